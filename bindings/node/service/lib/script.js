'use strict';

const { fileURLToPath } = require('node:url');
const { refused } = require('quillet/internal');
const { drive, known, milliseconds, readTools } = require('./drive');
const { native, toJson, write } = require('./native');

const LISTS = ['abilities', 'search', 'allowRead', 'allowWrite', 'allowEnv'];
const FLAGS = ['allowNet', 'allowRun'];
const OTHERS = [
  'inputs',
  'model',
  'tools',
  'timeoutMs',
  'signal',
  'parameters',
  'seed',
  'limits',
  'onEvent',
];
/** Limits and their names in the engine. */
const LIMITS = {
  steps: 'steps',
  depth: 'depth',
  modelCalls: 'model_calls',
  tokens: 'tokens',
  messages: 'messages',
  bytes: 'bytes',
  ownMs: 'own_ms',
  jsMs: 'js_ms',
  jsBytes: 'js_bytes',
};

/** Runs a script, which is a file or a text with several lines, and returns its result. */
async function run(script, options = {}) {
  known('options', options, [...OTHERS, ...FLAGS, ...LISTS]);
  const { model, inputs = null, parameters = {}, signal, onEvent } = options;
  if (typeof model !== 'function')
    throw refused('option.kind', 'model must be a function', 'pass a function that takes messages');
  const { functions, described } = readTools(options.tools);
  functions.set(null, ([messages], asked) => model(messages, asked));
  const wanted = {
    ...source(script),
    tools: described,
    timeoutMs: milliseconds('timeoutMs', options.timeoutMs),
    seed: seed(options.seed),
    limits: limits(options.limits),
    isWatched: onEvent !== undefined,
  };
  for (const name of LISTS)
    if (options[name] !== undefined) wanted[name] = texts(name, options[name]);
  for (const name of FLAGS) wanted[name] = options[name] === true;
  const json = toJson(wanted);
  const begin = (bell) =>
    write('inputs', [inputs, parameters], (encoder, words, count, text, units) =>
      native.run(json, encoder, words, count, text, units, bell),
    );
  return drive(begin, { functions, signal, onEvent });
}

/** A text with several lines is not a path. */
function source(script) {
  if (script instanceof URL) return { path: fileURLToPath(script) };
  if (typeof script !== 'string')
    throw refused(
      'option.kind',
      'the script must be a string',
      'give a path, or the script itself',
    );
  return script.includes('\n') ? { text: script } : { path: script };
}

function texts(name, list) {
  const isPath = (one) => typeof one === 'string' || one instanceof URL;
  if (!Array.isArray(list) || !list.every(isPath))
    throw refused('option.kind', `${name} must be a list of strings`, 'give [text]');
  return list.map((one) => (one instanceof URL ? fileURLToPath(one) : one)).map(String);
}

function seed(given) {
  if (given === undefined) return undefined;
  if (!Number.isSafeInteger(given) || given < 0)
    throw refused(
      'option.kind',
      'seed must be an integer of at least 0',
      'omit it for a random seed',
    );
  return given;
}

function limits(given = {}) {
  known('limits', given, Object.keys(LIMITS));
  const found = {};
  for (const [name, most] of Object.entries(given)) {
    if (most === undefined) continue;
    if (typeof most !== 'number' || !(most >= 0))
      throw refused(
        'option.kind',
        `limits.${name} must be a number from 0`,
        'omit it for the default',
      );
    found[LIMITS[name]] = Math.min(Math.floor(most), Number.MAX_SAFE_INTEGER);
  }
  return found;
}

module.exports = { run };
