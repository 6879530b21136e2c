// Runs one tool under node: its call stands on standard input, what became of it goes to descriptor 3.
const fs = require("node:fs");
const say = (n, text) => fs.writeSync(n, text + "\n");
const { file, request } = JSON.parse(fs.readFileSync(0, "utf8"));
let given = false;
const give = (answer) => {
  if (given) return;
  given = true;
  const text = Buffer.from(JSON.stringify(answer));
  const head = Buffer.alloc(4);
  head.writeUInt32BE(text.length);
  const whole = Buffer.concat([head, text]);
  for (let at = 0; at < whole.length;) at += fs.writeSync(3, whole, at);
  process.exit(0);
};
const fail = (error) => give(__call.failed(say, error));
process.on("uncaughtException", fail);
process.on("unhandledRejection", fail);
process.on("beforeExit", () => give({ failed: { class: "Error", text: "it waits for a promise that nothing will settle" } }));
Object.assign(process.env, request.env);
globalThis.require = require("node:module").createRequire(file);
import(require("node:url").pathToFileURL(file)).then((module) => __call.begin(module, request, say, give)).catch(fail);
