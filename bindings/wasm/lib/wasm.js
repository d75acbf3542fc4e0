'use strict';
// Wraps the WebAssembly module with the same functions as the Node addon.

const { createApi } = require('./template');

/** Return values for an error, and for the end of a render. */
const REFUSED = -1;
const ENDED = 1;

/**
 * Loads the package: `Template`, `check`, `convert`, `float`, `formats` and `QuilletError`.
 * `source` is the module, its bytes, a response with them, or a promise of one of these.
 */
async function load(source) {
  const given = await source;
  const imports = {
    quillet: { now: () => Date.now(), random: () => crypto.getRandomValues(new Uint32Array(1))[0] },
  };
  const { exports } = await instantiate(given, imports);
  exports.start();
  return createApi(functions(exports));
}

async function instantiate(source, imports) {
  if (source instanceof WebAssembly.Module) return WebAssembly.instantiate(source, imports);
  const bytes =
    typeof Response === 'function' && source instanceof Response
      ? await source.arrayBuffer()
      : source;
  return (await WebAssembly.instantiate(bytes, imports)).instance;
}

function functions(module) {
  const { memory } = module;
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();

  const texts = (list) => {
    const bytes = encoder.encode(
      JSON.stringify(list.map((text) => text.replace(/\p{Surrogate}/gu, '\ufffd'))),
    );
    const at = module.room(2, bytes.length);
    new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
  };
  const value = (words, count, text, units) => {
    const wordsAt = module.room(0, count);
    const unitsAt = module.room(1, units);
    // Create both views after both allocations, because growing memory replaces the buffer.
    new Int32Array(memory.buffer, wordsAt, count).set(words.subarray(0, count));
    const room = new Uint16Array(memory.buffer, unitsAt, units);
    for (let unit = 0; unit < units; unit++) room[unit] = text.charCodeAt(unit);
  };
  const given = () =>
    decoder.decode(new Uint8Array(memory.buffer, module.given(), module.given_length()));
  const number = (number) => (number === REFUSED ? { error: given() } : number);
  const answer = (status) => (status === REFUSED ? { error: given() } : given());

  return {
    encoder: () => module.encoder(),
    shape(encoder, keys) {
      texts(keys);
      return number(module.shape(encoder));
    },
    forgetShapes: (encoder) => module.forget_shapes(encoder),
    compile(format, text, options) {
      texts([format, text, options]);
      return number(module.compile());
    },
    release: (template) => module.release(template),
    variables: (template) => answer(module.variables(template)),
    functions: (template) => answer(module.functions(template)),
    render(template, encoder, words, count, text, units, mode) {
      value(words, count, text, units);
      return answer(module.render(template, encoder, mode));
    },
    again: (template) => answer(module.again(template)),
    messages(template, encoder, words, count, text, units) {
      value(words, count, text, units);
      return answer(module.messages(template, encoder));
    },
    segments(template, encoder, words, count, text, units) {
      value(words, count, text, units);
      return answer(module.segments(template, encoder));
    },
    begin(template, encoder, words, count, text, units, functions, what) {
      value(words, count, text, units);
      texts([functions, what]);
      return number(module.begin(template, encoder));
    },
    step(rendering) {
      const status = module.step(rendering);
      return status === ENDED ? null : answer(status);
    },
    give(rendering, call, encoder, words, count, text, units) {
      value(words, count, text, units);
      return number(module.give(rendering, call, encoder));
    },
    fail(rendering, call, message) {
      texts([message]);
      return number(module.fail(rendering, call));
    },
    timeLeft: (rendering) => module.time_left(rendering),
    result(rendering, what) {
      texts([what]);
      return answer(module.result(rendering));
    },
    abandon: (rendering) => module.abandon(rendering),
    check(format, text, options) {
      texts([format, text, options]);
      return answer(module.check());
    },
    convert(text, from, to, assumeText, strict) {
      texts([text, from, to]);
      return answer(module.convert(Number(assumeText), Number(strict)));
    },
    formats: () => answer(module.formats()),
  };
}

module.exports = { load };
