'use strict';
// Drives a background task of the engine that calls JavaScript functions. The engine invokes a
// callback when there are events: requested calls, or the end of the task. Calls run concurrently
// in the event loop.

const { refused } = require('quillet/internal');
const { native, unwrap, write } = require('./native');

/**
 * Returns a promise for the result of a background task. `begin(callback)` starts it and returns
 * its number. `functions` are the tools by name, and the model under `null`.
 */
function drive(begin, { functions = new Map(), signal, onEvent, onToolError = warn } = {}) {
  return new Promise((resolve, reject) => {
    let work;
    let over = false;
    // Last exception of each tool, a possible cause if the task fails.
    const thrown = new Map();
    let cause;

    const end = (settle, value) => {
      if (over) return;
      over = true;
      signal?.removeEventListener('abort', stop);
      settle(value);
    };
    const giveUp = (reason) => {
      if (over) return;
      native.cancel(work);
      end(reject, reason);
    };
    const stop = () => giveUp(signal.reason);

    const finish = () => {
      let done;
      try {
        done = JSON.parse(unwrap(native.result(work)));
        for (const [tool, message] of done.failures)
          onToolError({ tool, message, error: thrown.get(tool) });
      } catch (error) {
        if (cause !== undefined && done === undefined)
          Object.defineProperty(error, 'cause', {
            value: cause,
            configurable: true,
            writable: true,
          });
        return end(reject, error);
      }
      end(resolve, done.value);
    };

    const fail = (call, tool, error) => {
      if (over) return;
      cause = error;
      thrown.set(tool, error);
      native.fail(work, call, messageOf(error));
    };
    const answer = (call, tool, value) => {
      if (over) return;
      try {
        write(
          tool === null ? 'the answer of the model' : `the result of ${tool}`,
          value ?? null,
          (...given) => native.answer(work, call, ...given.slice(0, 5)),
        );
      } catch (error) {
        fail(call, tool, error);
      }
    };
    const make = ({ call, tool, positional, named }) => {
      let given;
      try {
        given = functions.get(tool)(positional, named);
      } catch (error) {
        return fail(call, tool, error);
      }
      if (isPromise(given)) {
        given.then(
          (value) => answer(call, tool, value),
          (error) => fail(call, tool, error),
        );
      } else {
        answer(call, tool, given);
      }
    };

    const advance = () => {
      try {
        // Loops until there are no events, because the callback for new events may have run
        // already.
        while (!over) {
          const told = native.news(work);
          if (told === null) return finish();
          const news = JSON.parse(told);
          if (news.length === 0) return;
          for (const one of news) {
            if (over) return;
            if (one.event !== undefined) onEvent?.(one.event);
            // An abandoned call cannot be stopped from here.
            else if (one.gone === undefined) make(one);
          }
        }
      } catch (error) {
        giveUp(error);
      }
    };

    try {
      if (signal?.aborted) throw signal.reason;
      work = unwrap(begin(advance));
    } catch (error) {
      return end(reject, error);
    }
    signal?.addEventListener('abort', stop, { once: true });
  });
}

function messageOf(error) {
  try {
    if (!(error instanceof Error)) return String(error);
    return error.name === 'Error' ? String(error.message) : `${error.name}: ${error.message}`;
  } catch {
    return 'it threw a value without text';
  }
}

function isPromise(value) {
  return value !== null && typeof value === 'object' && typeof value.then === 'function';
}

function warn({ tool, message }) {
  const text = `the tool ${tool} failed: ${message}`;
  process.emitWarning(text, 'QuilletWarning');
}

const TOOL = ['call', 'description', 'parameters'];

/** Reads functions by name, with their descriptions for the engine. */
function readTools(tools) {
  const functions = new Map();
  const described = [];
  if (tools === undefined || tools === null) return { functions, described };
  if (typeof tools !== 'object')
    throw refused('option.kind', 'tools must be an object', 'give { name: function }');
  for (const [name, tool] of Object.entries(tools)) {
    if (typeof tool === 'function') {
      // Arguments as in a template: positional ones first, then the named ones as one object.
      functions.set(name, (positional, named) =>
        Object.keys(named).length > 0 ? tool(...positional, named) : tool(...positional),
      );
      described.push({ name });
      continue;
    }
    if (tool === null || typeof tool !== 'object' || typeof tool.call !== 'function') {
      throw refused(
        'option.kind',
        `tools.${name} must be a function`,
        'give a function, or { call, description, parameters }',
      );
    }
    known(`tools.${name}`, tool, TOOL);
    const { description = '', parameters } = tool;
    functions.set(
      name,
      parameters === undefined
        ? (positional, named) => tool.call(...positional, named)
        : (_, named) => tool.call(named),
    );
    described.push({
      name,
      description: String(description),
      parameters: schema(name, parameters),
    });
  }
  return { functions, described };
}

/** A JSON Schema, or parameter names in order. */
function schema(name, parameters) {
  if (parameters === undefined) return undefined;
  if (Array.isArray(parameters) && parameters.every((one) => typeof one === 'string')) {
    const properties = Object.fromEntries(parameters.map((one) => [one, {}]));
    return { type: 'object', properties };
  }
  if (parameters !== null && typeof parameters === 'object' && !Array.isArray(parameters))
    return parameters;
  throw refused(
    'option.kind',
    `tools.${name}.parameters must be a schema`,
    "give a JSON Schema, or ['name', …]",
  );
}

/** Checks that an object has no other keys. */
function known(what, object, keys) {
  if (object === null || typeof object !== 'object')
    throw refused('option.kind', `${what} must be an object`, `valid names are ${keys.join(', ')}`);
  for (const key of Object.keys(object)) {
    if (!keys.includes(key))
      throw refused(
        'option.unknown',
        `${what} has no ${key}`,
        `valid names are ${keys.join(', ')}`,
      );
  }
}

/** Validates an optional number of milliseconds. */
function milliseconds(what, time) {
  if (time === undefined) return undefined;
  if (typeof time !== 'number' || !(time > 0))
    throw refused('option.kind', `${what} must be a number above 0`, 'omit it for the default');
  // JSON cannot represent infinity.
  return Math.min(time, Number.MAX_VALUE);
}

function isText(what, value) {
  if (typeof value !== 'string')
    throw refused(
      'option.kind',
      `${what} must be a string, not of type ${typeof value}`,
      'give a string',
    );
  return value;
}

module.exports = { drive, isText, known, milliseconds, readTools };
