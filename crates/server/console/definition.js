// Splits a prompt definition into its template texts and its other fields, for editing.

/** Fields of a definition that are templates. */
const TEXTS = ['systemPrompt', 'userPrompt', 'prompt', 'template'];
const FORMAT = ['format', 'templateFormat', 'template_format'];

/** Formats that a definition can have. */
export const FORMATS = [
  'go',
  'jinja',
  'jinja-plain',
  'semantic-kernel',
  'semantic-kernel-handlebars',
  'semantic-kernel-jinja2',
  'semantic-kernel-liquid',
  'handlebars',
  'handlebars-html',
  'mustache',
  'mustache-html',
  'f-string',
  'f-string-strict',
  'liquid',
  'dotprompt',
];

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Returns `{ order, formatKey, format, texts: [{ key, text }], messages: [{ rest, text }] or null, rest }`,
 * or null if the definition is not an object. The text of a message is null if its content is not a string.
 */
export function dissect(definition) {
  if (!isObject(definition)) return null;
  const rest = { ...definition };
  const formatKey = FORMAT.find((key) => typeof rest[key] === 'string') ?? 'format';
  const format = rest[formatKey] ?? '';
  delete rest[formatKey];
  const texts = [];
  const keys = isScript(format) ? ['source'] : TEXTS;
  for (const key of keys) {
    if (typeof rest[key] !== 'string') continue;
    texts.push({ key, text: rest[key] });
    delete rest[key];
  }
  let messages = null;
  if (Array.isArray(rest.messages) && rest.messages.every(isObject)) {
    messages = rest.messages.map(({ content, ...others }) =>
      typeof content === 'string' ? { rest: others, text: content } : { rest: content === undefined ? others : { ...others, content }, text: null },
    );
    delete rest.messages;
  }
  return { order: Object.keys(definition), formatKey, format, texts, messages, rest };
}

export function isScript(format) {
  return format.toLowerCase() === 'script';
}

/** Assembles the definition, with its fields in their original order. */
export function assemble(model) {
  const all = new Map(Object.entries(model.rest));
  if (model.format) all.set(model.formatKey, model.format);
  for (const { key, text } of model.texts) all.set(key, text);
  if (model.messages) all.set('messages', model.messages.map(({ rest, text }) => (text === null ? rest : { ...rest, content: text })));
  const order = [...model.order.filter((key) => all.has(key)), ...[...all.keys()].filter((key) => !model.order.includes(key))];
  return Object.fromEntries(order.map((key) => [key, all.get(key)]));
}

/** Returns the definition of a new prompt. */
export function draft(kind, format) {
  if (kind === 'script') return { format: 'script', source: '---\ninput:\n  - name: {type: string, index: 0}\n---\nuser: "Greet {{name}}."\n' };
  if (kind === 'messages') return { format, messages: [{ role: 'system', content: '' }, { role: 'user', content: '' }], parameters: [] };
  return { format, userPrompt: '', parameters: [] };
}

/** Returns the template that a diagnostic refers to. Sources are `greet.prompt`, `greet.messages.1`, …. */
export function partOf(source, model) {
  const name = String(source ?? '');
  const message = name.match(/\.messages\.(\d+)$/);
  if (message && model.messages?.[message[1]]) return `messages.${message[1]}`;
  const text = model.texts.find(({ key }) => name.endsWith(`.${key}`));
  if (text) return text.key;
  // Scripts and single texts have only one template.
  return model.texts.length > 0 ? model.texts.at(-1).key : null;
}

const HEAD = /^──── (definition|message|[A-Za-z]+)(?: (\{.*\}))? ────$/;
const escaped = (text) => text.replace(/^(\\*)(?=──── )/gm, '\\$1');
const unescaped = (text) => text.replace(/^\\(\\*)(?=──── )/gm, '$1');

/** Returns a definition as one text that can be merged by line. A heading precedes each template. */
export function toDocument(definition) {
  const model = dissect(definition);
  if (!model) return typeof definition === 'string' ? definition : JSON.stringify(definition, null, 2);
  const rest = { ...(model.format ? { [model.formatKey]: model.format } : {}), ...model.rest };
  if (model.messages?.length === 0) rest.messages = [];
  const parts = [`──── definition ────\n${JSON.stringify(rest, null, 2)}`];
  for (const { key, text } of model.texts) parts.push(`──── ${key} ────\n${escaped(text)}`);
  for (const { rest: others, text } of model.messages ?? []) {
    const head = JSON.stringify(text === null ? others : { ...others, content: '' });
    parts.push(`──── message ${head} ────\n${escaped(text ?? '')}`);
  }
  return parts.join('\n');
}

/** Parses the text of `toDocument`. Throws if it is invalid. */
export function fromDocument(text, order = []) {
  const parts = [];
  for (const line of text.split('\n')) {
    const head = line.match(HEAD);
    if (head) parts.push({ name: head[1], about: head[2], lines: [] });
    else if (parts.length) parts.at(-1).lines.push(line);
    else return JSON.parse(text);
  }
  const rest = {};
  const model = { order, formatKey: 'format', format: '', texts: [], messages: null, rest };
  for (const { name, about, lines } of parts) {
    const body = lines.join('\n');
    if (name === 'definition') Object.assign(rest, JSON.parse(body));
    else if (name === 'message') {
      const others = JSON.parse(about ?? '{}');
      const isText = others.content === '';
      if (isText) delete others.content;
      (model.messages ??= []).push({ rest: others, text: isText ? unescaped(body) : null });
    } else model.texts.push({ key: name, text: unescaped(body) });
  }
  return assemble(model);
}
