'use strict';
// Makes the calls of a render: the engine requests them and continues with their results.

const { refused } = require('./errors');

/** Renders with synchronous functions. */
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
            // The promise is never awaited, and an unhandled rejection would end the process.
            given.then(undefined, () => {});
            throw refused('tool.async', `${call.name} returned a promise`, 'await renderAsync(…)');
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
 * Renders with functions that may be asynchronous. Independent calls run concurrently.
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
    // Results that arrive in one turn of the event loop are passed together.
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
    // The engine checks its time limit only when it continues. `setTimeout` does not accept a
    // longer delay.
    if (left < 2 ** 31) timer = setTimeout(advance, Math.ceil(left) + 1);
    advance();
  });
}

/** Calls newly requested by the render; `null` when it has ended. */
function step({ native, number, unwrap }) {
  const calls = unwrap(native.step(number));
  return calls === null ? null : JSON.parse(calls);
}

function result({ native, number, what, unwrap }) {
  const found = unwrap(native.result(number, what));
  return what === 'text' ? found : JSON.parse(found);
}

/** Named arguments come last, as one object. */
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
