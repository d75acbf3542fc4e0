'use strict';
// Makes the calls that a render waits for: the engine says which, and goes on when it is told.

const { refused } = require('./errors');

/** A render whose functions give their results at once. */
function drive(render) {
  const { native, number } = render;
  let ended = false;
  try {
    for (;;) {
      const calls = step(render);
      if (calls === null) {
        ended = true;
        return result(render);
      }
      for (const call of calls) {
        let given;
        try {
          given = invoke(render, call);
          if (isPromise(given)) {
            // Nobody waits for it, and a rejection that nobody sees ends the process.
            given.then(undefined, () => {});
            throw refused('tool.async', `${call.name} gave a promise`, 'await renderAsync(…)');
          }
          give(render, call, given);
        } catch (error) {
          failed(render, call, error);
        }
      }
    }
  } finally {
    if (!ended) native.abandon(number);
  }
}

/**
 * A render whose functions may be asynchronous: those that do not need each other run side by side.
 */
function driveAsync(render) {
  const { native, number, signal } = render;
  return new Promise((resolve, reject) => {
    let over = false;
    let timer;

    const end = (settle, value) => {
      if (over) return;
      over = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
      settle(value);
    };
    const stop = () => {
      if (over) return;
      native.abandon(number);
      end(reject, signal.reason);
    };
    const advance = () => {
      if (over) return;
      try {
        const calls = step(render);
        if (calls === null) return end(resolve, result(render));
        for (const call of calls) begin(call);
      } catch (error) {
        native.abandon(number);
        end(reject, error);
      }
    };
    const settle = (call, work) => {
      if (over) return;
      try {
        work();
      } catch (error) {
        native.abandon(number);
        return end(reject, error);
      }
      soon();
    };
    // Answers that come in one turn of the event loop are told together.
    let waiting = false;
    const soon = () => {
      if (waiting) return;
      waiting = true;
      queueMicrotask(() => {
        waiting = false;
        advance();
      });
    };
    const begin = (call) => {
      const answer = (value) => {
        try {
          give(render, call, value);
        } catch (error) {
          failed(render, call, error);
        }
      };
      let given;
      try {
        given = invoke(render, call);
      } catch (error) {
        settle(call, () => failed(render, call, error));
        return;
      }
      if (isPromise(given)) {
        given.then(
          (value) => settle(call, () => answer(value)),
          (error) => settle(call, () => failed(render, call, error)),
        );
      } else {
        settle(call, () => answer(given));
      }
    };

    if (signal?.aborted) return stop();
    signal?.addEventListener('abort', stop, { once: true });
    const left = native.timeLeft(number);
    // The engine looks at its clock when it is asked to go on. `setTimeout` takes no more than
    // this.
    if (left < 2 ** 31) timer = setTimeout(advance, Math.ceil(left) + 1);
    advance();
  });
}

/** The calls that are newly waited for; `null` at the end. */
function step({ native, number, unwrap }) {
  const calls = unwrap(native.step(number));
  return calls === null ? null : JSON.parse(calls);
}

function result({ native, number, what, unwrap }) {
  const found = unwrap(native.result(number, what));
  return what === 'text' ? found : JSON.parse(found);
}

/** Arguments by name come last, as one object. */
function invoke({ tools }, { name, positional, named }) {
  const { call: work } = tools.get(name);
  return Object.keys(named).length > 0 ? work(...positional, named) : work(...positional);
}

function give({ native, encoder, number, unwrap }, call, value) {
  unwrap(
    encoder.encode(
      `the result of ${call.name}`,
      value ?? null,
      null,
      (encoder, words, count, text, units) =>
        native.give(number, call.id, encoder, words, count, text, units),
    ),
  );
}

/** Reports a failed call. The engine chooses its fallback value. */
function failed({ native, number, unwrap, onToolError }, call, error) {
  const message = messageOf(error);
  unwrap(native.fail(number, call.id, message));
  onToolError({ tool: call.name, message, error });
}

function messageOf(error) {
  try {
    return error instanceof Error ? String(error.message) : String(error);
  } catch {
    return 'it threw a value without text';
  }
}

function isPromise(value) {
  return value !== null && typeof value === 'object' && typeof value.then === 'function';
}

module.exports = { drive, driveAsync };
