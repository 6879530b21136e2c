// What a tool finds beside the language itself in the built-in engine, and what drives its call. say(n, text) writes a line to an output.
"use strict";
(() => {
  const printer = (n) => (...values) => say(n, values.map(__call.shown).join(" "));
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

  let done = null;
  const failed = (error) => { done = __call.failed(say, error); };

  // next does what is due. It returns the answer as JSON, the milliseconds until something is due, or -1: nothing ever will be.
  globalThis.__loci = {
    start(load, request) {
      globalThis.process = { env: request.env, argv: [], platform: "loci" };
      try {
        __call.begin(load(), request, say, (answer) => { done = answer; });
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
