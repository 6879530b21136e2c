// How a tool is called, whatever runs it. say(n, text) writes a line to one of its outputs.
"use strict";
const __call = (() => {
  const shown = (value) => {
    if (typeof value === "string") return value;
    if (value instanceof Error) return String(value.stack ? `${value}\n${value.stack}` : value);
    try {
      const text = JSON.stringify(value);
      return text === undefined ? String(value) : text;
    } catch {
      return String(value);
    }
  };

  // Comments and texts, in which a comma or a bracket says nothing.
  const texts = /\/\*.*?\*\/|\/\/[^\n]*|(["'`])(?:\\.|(?!\1)[^\\])*\1/gs;

  // The names of a function's parameters, as its source has them; "" stands for one that takes an object apart.
  const parameters = (f) => {
    const source = Function.prototype.toString.call(f).replace(texts, "");
    const arrow = /^(?:async\s+)?([\w$]+)\s*=>/.exec(source);
    if (arrow) return [arrow[1]];
    let depth = 0;
    let text = "";
    const names = [];
    for (const c of source.slice(source.indexOf("("))) {
      if (depth === 1 && (c === "," || c === ")")) {
        if (text.trim()) names.push(/^\s*(?:\.\.\.)?([\w$]*)/.exec(text)[1]);
        text = "";
        if (c === ")") break;
        continue;
      }
      if ("([{".includes(c)) depth++;
      if (")]}".includes(c)) depth--;
      if (depth > 1 || c !== "(") text += c;
    }
    return names;
  };

  const textOf = (value) => {
    if (typeof value === "string") return [value, ""];
    const notes = new Set();
    const kept = (_, v) => {
      if (typeof v === "bigint" || typeof v === "function" || typeof v === "symbol") {
        notes.add(typeof v);
        return String(v);
      }
      if (v instanceof Map || v instanceof Set) {
        notes.add(v.constructor.name);
        return [...v];
      }
      return v;
    };
    let text;
    if (value !== null && typeof value === "object") {
      try {
        text = JSON.stringify(value, kept);
      } catch {
        notes.add(value.constructor?.name ?? "object");
      }
    } else if (typeof value === "bigint" || typeof value === "function" || typeof value === "symbol") {
      notes.add(typeof value);
    }
    const note = notes.size ? `JSON can't hold a value of type ${[...notes].slice(0, 5).join(", ")}, so it is shown as text.` : "";
    if (text === undefined) text = value !== null && typeof value === "object" ? Object.prototype.toString.call(value) : String(value);
    return [text, note];
  };

  const stateOf = (fields) => {
    const blocks = fields.blocks.map((block) => ({ ...block }));
    const memory = {
      blocks,
      get_block(label) {
        const found = blocks.find((block) => block.label === label);
        if (!found) throw new Error(`Block field ${label} does not exist`);
        return found;
      },
      get_blocks: () => blocks,
      list_block_labels: () => blocks.map((block) => block.label),
      update_block_value(label, value) {
        if (typeof value !== "string") throw new Error("Provided value must be a string");
        memory.get_block(label).value = value;
      },
    };
    return { ...fields, blocks, memory };
  };

  const failed = (say, error) => {
    const isError = error instanceof Error;
    if (isError && error.stack) say(2, error.stack.startsWith(String(error)) ? error.stack : `${error}\n${error.stack.trimEnd()}`);
    return { failed: { class: isError ? error.name : "Error", text: isError ? error.message : shown(error) } };
  };

  const most = 1_000_000; // characters of a result

  // bounded cuts a text that is too long, within no character, and says so in the note.
  const bounded = (text, note) => {
    if (text.length <= most) return [text, note];
    const kept = text.slice(0, most).replace(/[\ud800-\udbff]$/, "");
    return [kept, `${note} The result has ${text.length} characters; the first ${most} are here.`.trim()];
  };

  // begin calls the function of a module, and gives done what becomes of it.
  const begin = (module, request, say, done) => {
    const found = module[request.function] ?? (module.default?.name === request.function ? module.default : undefined) ?? module.default;
    if (typeof found !== "function") throw new Error(`the source exports no function ${request.function}`);
    const state = request.state && stateOf(request.state);
    const given = state ? { ...request.arguments, agent_state: state } : request.arguments;
    const names = parameters(found);
    const rest = Object.keys(given).filter((name) => !names.includes(name) && name !== "agent_state");
    const args = names.map((name) => (name === "" ? given : given[name]));
    if (names.length && rest.length && !names.includes("")) {
      throw new TypeError(`${request.function}() got an unexpected argument '${rest[0]}'; its parameters are ${names.join(", ")}`);
    }
    Promise.resolve(found(...args)).then((value) => {
      const [text, note] = bounded(...textOf(value));
      const blocks = {};
      for (const block of state ? state.blocks : []) {
        const before = request.state.blocks.find((b) => b.label === block.label);
        if (before && typeof block.value === "string" && block.value !== before.value) blocks[block.label] = block.value;
      }
      done({ text, note, blocks });
    }).catch((error) => done(failed(say, error)));
  };

  return { shown, begin, failed };
})();
