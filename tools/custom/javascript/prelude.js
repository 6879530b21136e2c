// What a tool finds beside the language itself, and how it is called. say(n, text) writes a line to one of its outputs.
"use strict";
(() => {
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
  const printer = (n) => (...values) => say(n, values.map(shown).join(" "));
  globalThis.console = { log: printer(1), info: printer(1), debug: printer(1), warn: printer(2), error: printer(2), trace: printer(2) };

  let timers = [];
  let last = 0;
  const later = (every) => (run, wait = 0, ...args) => {
    timers.push({ id: ++last, at: Date.now() + Math.max(0, Number(wait) || 0), run: () => run(...args), every: every ? Math.max(1, wait) : 0 });
    return last;
  };
  globalThis.setTimeout = later(false);
  globalThis.setInterval = later(true);
  globalThis.setImmediate = (run, ...args) => setTimeout(run, 0, ...args);
  globalThis.clearTimeout = globalThis.clearInterval = globalThis.clearImmediate = (id) => {
    timers = timers.filter((timer) => timer.id !== id);
  };
  globalThis.queueMicrotask = (run) => { Promise.resolve().then(run); };
  globalThis.structuredClone = (value) => {
    if (value instanceof Map) return new Map([...value].map(([k, v]) => [structuredClone(k), structuredClone(v)]));
    if (value instanceof Set) return new Set([...value].map(structuredClone));
    if (value instanceof Date) return new Date(value);
    if (Array.isArray(value)) return value.map(structuredClone);
    if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, structuredClone(v)]));
    if (typeof value === "function") throw new TypeError("a function can't be cloned");
    return value;
  };
  globalThis.TextEncoder = class {
    encode(text = "") {
      return Uint8Array.from(unescape(encodeURIComponent(text)), (c) => c.charCodeAt(0));
    }
  };
  // ASCII, the other sequences of UTF-8, and what is none.
  const sequences = new RegExp([
    "[\\x00-\\x7f]+", "[\\xc2-\\xdf][\\x80-\\xbf]", "\\xe0[\\xa0-\\xbf][\\x80-\\xbf]", "\\xed[\\x80-\\x9f][\\x80-\\xbf]",
    "[\\xe1-\\xec\\xee\\xef][\\x80-\\xbf]{2}", "\\xf0[\\x90-\\xbf][\\x80-\\xbf]{2}", "[\\xf1-\\xf3][\\x80-\\xbf]{3}",
    "\\xf4[\\x80-\\x8f][\\x80-\\xbf]{2}", "[^]",
  ].join("|"), "g");
  globalThis.TextDecoder = class {
    decode(bytes = []) {
      const seen = ArrayBuffer.isView(bytes) ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) : new Uint8Array(bytes);
      let text = "";
      for (const byte of seen) text += String.fromCharCode(byte);
      return text.replace(sequences, (part) => (/^[\x80-\xff]$/.test(part) ? "\ufffd" : decodeURIComponent(escape(part))));
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

  let done = null;
  const failed = (error) => {
    const isError = error instanceof Error;
    if (isError && error.stack) say(2, `${error}\n${error.stack.trimEnd()}`);
    done = { failed: { class: isError ? error.name : "Error", text: isError ? error.message : shown(error) } };
  };

  // begin calls the function of a module; what becomes of it is asked for with next.
  const begin = (module, request) => {
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
      const [text, note] = textOf(value);
      const blocks = {};
      for (const block of state ? state.blocks : []) {
        const before = request.state.blocks.find((b) => b.label === block.label);
        if (before && typeof block.value === "string" && block.value !== before.value) blocks[block.label] = block.value;
      }
      done = { text, note, blocks };
    }).catch(failed);
  };

  // next does what is due. It returns the answer as JSON, the milliseconds until something is due, or -1: nothing ever will be.
  globalThis.__loci = {
    start(load, request) {
      globalThis.process = { env: request.env, argv: [], platform: "loci" };
      try {
        begin(load(), request);
      } catch (error) {
        failed(error);
      }
    },
    next() {
      if (done) return JSON.stringify(done);
      timers.sort((a, b) => a.at - b.at || a.id - b.id);
      if (!timers.length) return -1;
      const wait = timers[0].at - Date.now();
      if (wait > 0) return wait;
      const timer = timers.shift();
      if (timer.every) timers.push({ ...timer, at: Date.now() + timer.every });
      try {
        timer.run();
      } catch (error) {
        failed(error);
      }
      return 0;
    },
  };
})();
