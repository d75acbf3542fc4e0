// The package produces the same bytes as the Rust library for every vector of every format: text,
// messages, or the whole error. QUILLET_ANSWERS names the output of `cargo run -p quillet --example
// answers -- conformance`.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { QuilletError, Template } from 'quillet';
import { data, read } from './vectors.mjs';

// Files with their minimum number of vectors.
const FILES = {
  dotprompt: 41,
  'f-string': 113,
  'go-sprig-library': 1148,
  'go-template': 2858,
  'go-template-sprig': 573,
  handlebars: 177,
  jinja2: 292,
  'jinja2-differential': 155,
  liquid: 308,
  mustache: 75,
  'semantic-kernel': 133,
  'sk-chat-prompt': 30,
  'sk-handlebars': 34,
  'sk-jinja2': 19,
};

const answers = new Map();
for (const line of readFileSync(process.env.QUILLET_ANSWERS, 'utf8').split('\n').filter(Boolean)) {
  const { file, id, ...answer } = JSON.parse(line);
  answers.set(`${file} ${id}`, answer);
}

for (const [name, least] of Object.entries(FILES)) {
  test(`${name}: the same as Rust`, () => {
    const exact = read(`${name}.json`);
    const floats = name.startsWith('go-') ? read(`${name}.json`, true) : exact;
    assert.ok(exact.vectors.length >= least, `${exact.vectors.length} vectors`);
    exact.vectors.forEach((vector, index) => {
      const inFloats = name.startsWith('go-') && vector.numbers === undefined;
      const [file, own] = inFloats ? [floats, floats.vectors[index]] : [exact, vector];
      const variables = data('data' in own ? own.data : (file.datasets?.[own.dataset] ?? null));
      const expected = answers.get(`${name} ${vector.id ?? vector.name}`);
      assert.deepEqual(
        told(answer(name, exact, vector, variables)),
        told(expected),
        vector.id ?? vector.name,
      );
    });
  });
}

/** Result of a vector in the format of the Rust output. */
function answer(name, file, vector, variables) {
  const failed = [];
  try {
    const work = prepare(name, file, vector, variables);
    const template = new Template(work.text, { limits: { timeMs: 60_000 }, ...work.options });
    const tools = toolsOf(shared(file, vector, 'functions'), work.variables);
    const given = { tools, onToolError: ({ tool, message }) => failed.push([tool, message]) };
    const text = template.render(work.variables, given);
    if (Object.keys(tools).length === 0) {
      // Twice, because the second render finds its variables unchanged.
      for (const again of [1, 2])
        assert.equal(template.render(work.variables), text, `render ${again} without tools`);
    }
    const messages = template.messages(work.variables, { tools, onToolError: () => {} });
    return { text, messages, failed };
  } catch (error) {
    if (!(error instanceof QuilletError)) throw error;
    const { code, message, line = null, column = null, hint = null } = error;
    return { error: { code, message, line, column, hint } };
  }
}

/**
 * Removes the hint after an error message, which the library appends only to some errors.
 */
function told({ error, ...answer }) {
  if (error === undefined) return answer;
  const end = ` (${error.hint})`;
  const { message } = error;
  return {
    error: { ...error, message: message.endsWith(end) ? message.slice(0, -end.length) : message },
  };
}

function prepare(name, file, vector, variables) {
  const object = variables?.constructor === Object || variables instanceof Map;
  const root = variables instanceof Map ? Object.fromEntries(variables) : variables;
  const options = { format: formatOf(name, vector), missing: missing(vector) };
  if (name.startsWith('go-')) {
    const sources = vector.templates.map(({ name, text }) => [name, text]);
    if (!object) {
      const text = `{{template ${JSON.stringify(vector.entry)} .data}}`;
      return {
        text,
        options: { ...options, name: '(root)', partials: Object.fromEntries(sources) },
        variables: { data: variables },
      };
    }
    const at = sources.findIndex(([name]) => name === vector.entry);
    const text = at < 0 ? '' : sources.splice(at, 1)[0][1];
    return {
      text,
      options: { ...options, name: vector.entry, partials: Object.fromEntries(sources) },
      variables: root,
    };
  }
  const partials = shared(file, vector, 'partials');
  if (partials !== undefined) {
    options.partials = Object.fromEntries(
      Object.entries(partials).filter(([, text]) => typeof text === 'string'),
    );
  }
  if (['sk-chat-prompt', 'sk-handlebars', 'sk-jinja2'].includes(name))
    options.messages = 'elements';
  const text =
    { dotprompt: () => body(vector.source), 'sk-chat-prompt': () => vector.rendered }[name]?.() ??
    vector.template ??
    '';
  return { text, options, variables: object ? root : {} };
}

function body(source) {
  const end = source.startsWith('---\n') ? source.indexOf('\n---\n', 4) : -1;
  return end < 0 ? source : source.slice(end + 5);
}

function shared(file, vector, key) {
  const own = vector[key];
  const reference = own?.$ref;
  return typeof reference === 'string' ? file.shared[reference] : (own ?? undefined);
}

function formatOf(name, vector) {
  switch (name) {
    case 'handlebars':
      return vector.options?.noEscape === true ? 'handlebars' : 'handlebars-html';
    case 'jinja2':
    case 'jinja2-differential':
      return vector.preset === 'hf' ? 'jinja' : 'jinja-plain';
    case 'mustache':
      return 'mustache-html';
    case 'sk-chat-prompt':
      return 'semantic-kernel';
    case 'sk-handlebars':
      return 'semantic-kernel-handlebars';
    case 'sk-jinja2':
      return 'semantic-kernel-jinja2';
    case 'dotprompt':
    case 'f-string':
    case 'liquid':
    case 'semantic-kernel':
      return name;
    default:
      return 'go';
  }
}

/** If two options set the same thing, the last one applies. */
function missing(vector) {
  const kinds = {
    'missingkey=error': 'strict',
    'missingkey=zero': 'zero',
    'missingkey=default': 'default',
    'missingkey=invalid': 'default',
  };
  const given = Array.isArray(vector.options)
    ? vector.options.map((option) => kinds[option]).filter(Boolean)
    : [];
  return given.at(-1) ?? 'default';
}

/** Functions declared in a file: `const`, `echo`, `template`, or one that fails. */
function toolsOf(declared, variables) {
  if (declared === undefined || declared === null || Array.isArray(declared)) return {};
  return Object.fromEntries(
    Object.entries(declared).map(([name, { params = [], body }]) => {
      const parameters = params.map((parameter) => parameter.name);
      const call = (...args) => {
        const named =
          args.length > 0 && args.at(-1) instanceof Object && !Array.isArray(args.at(-1))
            ? args.at(-1)
            : {};
        const bound = params.map((parameter, index) => {
          const { name } = parameter;
          if (Object.hasOwn(named, name)) return [name, named[name]];
          if (index < args.length) return [name, args[index]];
          if (Object.hasOwn(variables, name)) return [name, variables[name]];
          if ('default' in parameter) return [name, parameter.default];
          throw new Error(`missing argument ${name}`);
        });
        switch (body.op) {
          case 'const':
            return body.value;
          case 'echo':
            return bound[0]?.[1] ?? null;
          case 'template':
            return bound.reduce(
              (text, [name, value]) => text.replaceAll(`{${name}}`, () => printed(value)),
              body.text,
            );
          default:
            throw new Error(body.message);
        }
      };
      return [name, { call, parameters }];
    }),
  );
}

function printed(value) {
  if (typeof value === 'string') return value;
  const json = JSON.stringify(value, (_, field) => {
    if (typeof field === 'bigint') return Number(field);
    return field?.constructor?.name === 'Float' ? field.value : field;
  });
  return json;
}
