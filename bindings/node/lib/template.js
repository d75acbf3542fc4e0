'use strict';

const { QuilletError, refused } = require('./errors');
const { createEncoder, Float } = require('./encode');
const { drive, driveAsync } = require('./tools');

/** The public interface over one engine: the addon or the WebAssembly module. */
function createApi(native) {
  const encoder = createEncoder(native);
  const leftovers = new FinalizationRegistry((number) => native.release(number));

  class Template {
    #number;
    /** Cache of the last variables; see `encode.js`. */
    #memory = [];
    #format;

    constructor(text, options = {}) {
      const { format, compile } = readOptions(text, options);
      this.#format = format;
      this.#number = unwrap(native.compile(format, text, compile));
      leftovers.register(this, this.#number);
    }

    /** The format's name, as passed. */
    get format() {
      return this.#format;
    }

    /** Names of the variables that the template can read, in order of first use. */
    get variables() {
      return JSON.parse(unwrap(native.variables(this.#number)));
    }

    /**
     * Names of the external functions that the template can call, in order of first use.
     */
    get functions() {
      return JSON.parse(unwrap(native.functions(this.#number)));
    }

    render(variables = {}, options) {
      if (options !== undefined && withTools(options))
        return drive(this.#begin(variables, options, 'text'));
      isObject(variables);
      const number = this.#number;
      const rendered = encoder.unchanged(variables, this.#memory)
        ? native.again(number)
        : encoder.encode(
            'variables',
            variables,
            this.#memory,
            (encoder, words, count, text, units, mode) =>
              native.render(number, encoder, words, count, text, units, mode),
          );
      return typeof rendered === 'string' ? rendered : unwrap(rendered);
    }

    async renderAsync(variables = {}, options = {}) {
      return driveAsync(this.#begin(variables, options, 'text'));
    }

    messages(variables = {}, options) {
      if (options !== undefined && withTools(options))
        return drive(this.#begin(variables, options, 'messages'));
      return JSON.parse(this.#once(native.messages, variables));
    }

    async messagesAsync(variables = {}, options = {}) {
      return driveAsync(this.#begin(variables, options, 'messages'));
    }

    segments(variables = {}, options) {
      if (options !== undefined && withTools(options))
        return drive(this.#begin(variables, options, 'segments'));
      return JSON.parse(this.#once(native.segments, variables));
    }

    async segmentsAsync(variables = {}, options = {}) {
      return driveAsync(this.#begin(variables, options, 'segments'));
    }

    #once(work, variables) {
      isObject(variables);
      const use = (encoder, words, count, text, units) =>
        work(this.#number, encoder, words, count, text, units);
      return unwrap(encoder.encode('variables', variables, null, use));
    }

    #begin(variables, options, what) {
      isObject(variables);
      const tools = readTools(options.tools);
      const values = [variables, ...tools.map((tool) => tool.default)];
      const functions = toJson(
        tools.map(({ name, parameters, idempotent }) => ({ name, parameters, idempotent })),
      );
      const number = unwrap(
        encoder.encode('variables', values, null, (encoder, words, count, text, units) =>
          native.begin(this.#number, encoder, words, count, text, units, functions, what),
        ),
      );
      return {
        native,
        encoder,
        number,
        what,
        unwrap,
        tools: new Map(tools.map((tool) => [tool.name, tool])),
        onToolError: options.onToolError ?? warn,
        signal: options.signal,
      };
    }
  }

  /** Diagnostics of a template; empty if it is valid. */
  function check(text, options = {}) {
    const { format, compile } = readOptions(text, options);
    return JSON.parse(unwrap(native.check(format, text, compile)));
  }

  /**
   * Converts the template to another format, with notes about parts that are exact only for some
   * values.
   */
  function convert(text, options) {
    isText('the template', text);
    const { from, to, assumeText = false, strict = false } = options ?? {};
    isText('from', from);
    isText('to', to);
    return JSON.parse(unwrap(native.convert(text, from, to, Boolean(assumeText), Boolean(strict))));
  }

  /** The formats with their aliases. */
  function formats() {
    return JSON.parse(native.formats()).map(([name, ...aliases]) => ({ name, aliases }));
  }

  /**
   * Marks a number as floating-point: formats that distinguish them print `3.0`, such as Jinja.
   */
  function float(value) {
    return new Float(value);
  }

  return { Template, QuilletError, check, convert, float, formats };
}

/** Returns the engine's result, or throws its error. */
function unwrap(answer) {
  if (answer !== null && typeof answer === 'object')
    throw new QuilletError(JSON.parse(answer.error));
  return answer;
}

const LIMITS = [
  'sourceBytes',
  'outputBytes',
  'memoryBytes',
  'steps',
  'nesting',
  'passes',
  'calls',
  'concurrency',
  'timeMs',
];
const OPTIONS = [
  'format',
  'partials',
  'name',
  'missing',
  'messages',
  'trusted',
  'filters',
  'limits',
];
const CHOICES = {
  missing: ['default', 'strict', 'zero', 'empty'],
  messages: ['plain', 'elements', 'role-lines'],
};

function readOptions(text, options) {
  isText('the template', text);
  knownKeys('options', options, OPTIONS);
  const keys = Object.keys(options);
  if (keys.length === 0) return { format: 'jinja', compile: '{}' };
  if (keys.length === 1 && typeof options.format === 'string') {
    return { format: options.format, compile: '{}' };
  }
  const {
    format = 'jinja',
    partials = {},
    limits = {},
    name,
    missing,
    messages,
    trusted = [],
    filters = [],
  } = options;
  isText('format', format);
  if (name !== undefined) isText('name', name);
  oneOf('missing', missing);
  oneOf('messages', messages);
  if (partials === null || typeof partials !== 'object') {
    throw refused('option.kind', 'partials must be an object', 'give { name: text }');
  }
  for (const [partial, text] of Object.entries(partials)) isText(`partials.${partial}`, text);
  knownKeys('limits', limits, LIMITS);
  const bounds = {};
  for (const [limit, bound] of Object.entries(limits)) {
    if (bound === undefined) continue;
    if (typeof bound !== 'number' || !(bound >= 0)) {
      throw refused(
        'option.kind',
        `limits.${limit} must be 0 or a positive number`,
        'omit it for the default',
      );
    }
    // JSON cannot represent infinity.
    bounds[limit] = Math.min(bound, Number.MAX_VALUE);
  }
  names('trusted', trusted);
  names('filters', filters);
  const compile = {
    name,
    partials: Object.entries(partials),
    missing,
    messages,
    trusted,
    filters,
    limits: bounds,
  };
  return { format, compile: toJson(compile) };
}

/** JSON in which an unpaired surrogate becomes U+FFFD, as in every text passed from JavaScript. */
function toJson(value) {
  return JSON.stringify(value, (_, field) =>
    typeof field === 'string' ? field.replace(/\p{Surrogate}/gu, '\ufffd') : field,
  );
}

function withTools({ tools }) {
  return tools !== undefined && tools !== null;
}

const TOOL = ['call', 'parameters', 'idempotent', 'default'];

/** Reads functions by name, each a function or `{ call, parameters, idempotent, default }`. */
function readTools(tools) {
  if (tools === undefined || tools === null) return [];
  if (typeof tools !== 'object')
    throw refused('option.kind', 'tools must be an object', 'give { name: function }');
  return Object.entries(tools).map(([name, tool]) => {
    if (typeof tool === 'function') return { name, call: tool, idempotent: false, default: null };
    if (tool === null || typeof tool !== 'object' || typeof tool.call !== 'function') {
      throw refused(
        'option.kind',
        `tools.${name} must be a function`,
        'give a function, or { call, parameters, idempotent, default }',
      );
    }
    knownKeys(`tools.${name}`, tool, TOOL);
    const parameters =
      tool.parameters === undefined
        ? undefined
        : names(`tools.${name}.parameters`, tool.parameters);
    const idempotent = Boolean(tool.idempotent);
    return {
      name,
      call: (...args) => tool.call(...args),
      parameters,
      idempotent,
      default: tool.default ?? null,
    };
  });
}

function isText(what, value) {
  if (typeof value !== 'string')
    throw refused('option.kind', `${what} must be a string, not ${kind(value)}`, 'give a string');
}

function isObject(variables) {
  if (variables === null || typeof variables !== 'object' || Array.isArray(variables)) {
    throw refused(
      'value.kind',
      `the variables must be an object, not ${kind(variables)}`,
      'give { name: value }',
    );
  }
}

function kind(value) {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a list' : `of type ${typeof value}`;
}

function names(what, list) {
  if (!Array.isArray(list) || list.some((name) => typeof name !== 'string')) {
    throw refused('option.kind', `${what} must be a list of names`, "give ['name']");
  }
  return list;
}

function oneOf(option, value) {
  const choices = CHOICES[option];
  if (value === undefined || choices.includes(value)) return;
  throw refused(
    'option.unknown',
    `invalid value of ${option}: ${JSON.stringify(String(value))}`,
    `one of ${choices.join(', ')}`,
  );
}

function knownKeys(what, object, known) {
  if (object === null || typeof object !== 'object') {
    throw refused(
      'option.kind',
      `${what} must be an object, not ${kind(object)}`,
      `valid names are ${known.join(', ')}`,
    );
  }
  for (const key of Object.keys(object)) {
    if (!known.includes(key))
      throw refused(
        'option.unknown',
        `${what} has no ${key}`,
        `valid names are ${known.join(', ')}`,
      );
  }
}

function warn({ tool, message }) {
  const text = `the tool ${tool} failed: ${message}`;
  if (typeof process === 'object' && typeof process.emitWarning === 'function') {
    process.emitWarning(text, 'QuilletWarning');
  } else {
    console.warn(text);
  }
}

module.exports = { createApi };
