// All routes of the OpenAPI document, with a form to try each one.

import { get, token } from '../api.js';
import { keep, problem } from '../app.js';
import { number, shown, t, took } from '../text.js';
import { place, prefixOf } from '../place.js';
import { schema } from '../schema.js';
import { fold, json, written } from '../value.js';
import { button, field, fill, h, textOf } from '../view.js';

const TAGS = {
  prompts: 'Rendering prompts and calling models',
  catalogue: 'Catalogue',
  definitions: 'Definitions, versions and labels',
  agent: 'Agents',
  openai: 'OpenAI-compatible API',
  databases: 'Databases',
  traces: 'Traces',
  operation: 'Operations',
  mcp: 'Model Context Protocol',
};
/** Number of characters shown of a response. The rest is still read. */
const SHOWN = 200_000;

/** Returns the location of a parameter. */
function inside(where) {
  return { path: t('in path'), query: t('in query'), header: t('in header') }[where] ?? where;
}

export default async function docs({ query, signal }) {
  const api = await get('openapi.json', { signal });
  const list = h('div');
  const count = h('p', { class: 'quiet', role: 'status' });
  const search = h('input', { type: 'search', '.value': query.get('q') ?? '', oninput: () => draw() });
  const aliases = h('input', { type: 'checkbox', '.checked': query.get('aliases') === '1', onchange: () => draw() });
  const all = routes(api);

  function draw() {
    keep({ q: textOf(search), aliases: aliases.checked ? 1 : '' });
    const words = textOf(search).toLowerCase().split(/\s+/).filter(Boolean);
    const found = all.filter((one) => (aliases.checked || !one.alias) && words.every((word) => one.text.includes(word)));
    count.textContent = t('{found} of {all} routes', { found: number(found.length), all: number(all.length) });
    const order = Object.keys(TAGS);
    const groups = [...grouped(found)].sort(([a], [b]) => order.indexOf(a) - order.indexOf(b));
    fill(
      list,
      groups.map(([tag, members]) => h('section', null, h('h2', null, t(TAGS[tag] ?? tag)), members.map((one) => entry(api, one, query.get('route') === one.key, signal)))),
    );
  }

  draw();
  requestAnimationFrame(() => list.querySelector('details.card[open]')?.scrollIntoView());
  return [
    h('h1', null, t('Docs'), ' ', h('span', { class: 'quiet' }, `${shown(api.info.title, 60)} ${shown(api.info.version, 40)}`)),
    h('p', { class: 'foreign' }, shown(api.info.description ?? '', 1000)),
    field(t('Search'), search),
    h('label', { class: 'row' }, aliases, t('Also show the same routes under /api/v1')),
    count,
    list,
  ];
}

function routes(api) {
  const all = [];
  for (const [path, item] of Object.entries(api.paths)) {
    for (const [method, operation] of Object.entries(item)) {
      const tag = operation.tags?.[0] ?? 'other';
      const key = `${method} ${path}`;
      // A route that exists only under /api/v1 is not an alias.
      const alias = path.includes('/api/v1/') && Boolean(api.paths[path.replace('/api/v1/', '/api/')]);
      all.push({ key, path, method, operation, tag, alias, text: `${key} ${operation.summary ?? ''} ${operation.description ?? ''}`.toLowerCase() });
    }
  }
  return all;
}

function grouped(found) {
  const groups = new Map();
  for (const one of found) groups.set(one.tag, [...(groups.get(one.tag) ?? []), one]);
  return groups;
}

function entry(api, one, open, signal) {
  const { path, method, operation } = one;
  const summary = [h('code', { class: `method ${method}` }, method.toUpperCase()), ' ', h('code', { class: 'foreign' }, path), ' ', h('span', { class: 'quiet' }, firstLine(operation.summary ?? ''))];
  const element = fold(summary, () => about(api, path, method, operation, signal), open);
  element.classList.add('card');
  element.addEventListener('toggle', () => element.open && keep({ route: one.key }));
  return element;
}

function firstLine(text) {
  return shown(text.split(/(?<=\.)\s/)[0].replaceAll('\n', ' '), 200);
}

function about(api, path, method, operation, signal) {
  const body = Object.entries(operation.requestBody?.content ?? {});
  return [
    h('p', { class: 'foreign' }, shown([operation.summary, operation.description].filter(Boolean).join('\n'), 4000)),
    (operation.parameters ?? []).length > 0 && [
      h('h3', null, t('Parameters')),
      h('ul', null, operation.parameters.map((one) => h('li', null, h('code', null, shown(one.name, 100)), ' ', h('span', { class: 'quiet' }, inside(one.in), one.required ? ` · ${t('required')}` : null), ' ', h('span', { class: 'foreign' }, shown(one.description ?? '', 1000))))),
    ],
    body.map(([type, media]) => [h('h3', null, t('Request body'), ' ', h('code', null, shown(type, 100))), schema(api, media.schema)]),
    h('h3', null, t('Try it')),
    trial(api, path, method, operation, signal),
    fold(t('Responses'), () =>
      Object.entries(operation.responses ?? {}).map(([status, answer]) => [
        h('h3', null, h('code', null, shown(status, 20)), ' ', h('span', { class: 'foreign' }, shown(answer.description ?? '', 500))),
        Object.entries(answer.content ?? {}).map(([type, media]) => h('div', null, h('code', { class: 'quiet' }, shown(type, 100)), schema(api, media.schema))),
      ]),
    ),
  ];
}

/** Creates a form that sends the request and streams the response. */
function trial(api, path, method, operation, signal) {
  const inputs = (operation.parameters ?? []).map((parameter) => {
    const input = h('input', { type: 'text', required: parameter.required && parameter.in === 'path' });
    return { parameter, input };
  });
  const [type, media] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  const isForm = type === 'multipart/form-data';
  const parts = isForm ? formParts(api, media.schema) : [];
  const area = type && !isForm ? h('textarea', { spellcheck: 'false', '.value': media.example === undefined ? '{}' : written(media.example) }) : null;
  const out = h('div');
  const stop = button(t('Stop'), () => running?.abort(), { hidden: true });
  const submit = h('button', { class: 'main' }, t('Send request'));
  let running = null;

  function request() {
    const query = new URLSearchParams();
    let where = path;
    const headers = token() ? { authorization: `Bearer ${token()}` } : {};
    for (const { parameter, input } of inputs) {
      if (parameter.in === 'path') where = where.replace(`{${parameter.name}}`, encodeURIComponent(textOf(input)));
      else if (parameter.in === 'header' && textOf(input)) headers[parameter.name] = textOf(input);
      else if (parameter.in === 'query' && textOf(input)) query.set(parameter.name, textOf(input));
    }
    let body;
    if (isForm) {
      body = new FormData();
      for (const { name, input } of parts) {
        const value = input.type === 'file' ? input.files[0] : textOf(input);
        if (value) body.set(name, value);
      }
    } else if (area && textOf(area).trim()) {
      body = textOf(area);
      headers['content-type'] = type;
    }
    return [place(prefixOf(api), where + (query.size ? `?${query}` : '')), { method: method.toUpperCase(), headers, body }];
  }

  async function send() {
    if (running) return;
    running = new AbortController();
    const leave = () => running?.abort();
    signal.addEventListener('abort', leave);
    submit.disabled = true;
    stop.hidden = false;
    const said = h('p', { role: 'status' }, '…');
    const pre = h('pre', { class: 'foreign answer-body', tabindex: '0', 'aria-label': t('Response body') });
    fill(out, said, pre);
    const began = performance.now();
    try {
      const [url, options] = request();
      const response = await fetch(url, { ...options, signal: running.signal, cache: 'no-store' });
      fill(said, h('strong', { class: response.ok ? 'good' : 'bad' }, `${response.status} ${response.statusText}`), ' ', h('span', { class: 'quiet' }, t('after {time}', { time: took((performance.now() - began) * 1000) })));
      pre.before(fold(t('Response headers'), () => h('pre', { class: 'foreign' }, [...response.headers].map(([name, value]) => `${name}: ${shown(value)}`).join('\n'))));
      await read(response, pre);
    } catch (error) {
      out.append(error.name === 'AbortError' ? h('p', { class: 'warn' }, t('Stopped.')) : problem(error));
    } finally {
      signal.removeEventListener('abort', leave);
      running = null;
      submit.disabled = false;
      stop.hidden = true;
    }
  }

  return h(
    'form',
    { onsubmit: (event) => (event.preventDefault(), send()) },
    inputs.map(({ parameter, input }) => field(h('code', null, shown(parameter.name, 100)), input, parameter.in === 'path' ? null : inside(parameter.in))),
    area && field(t('Request body'), area),
    parts.map(({ name, input }) => field(h('code', null, shown(name, 100)), input)),
    h('div', { class: 'row' }, submit, stop),
    out,
  );
}

/** Creates the fields of a multipart form. */
function formParts(api, of) {
  const resolved = of?.$ref ? api.components.schemas[of.$ref.split('/').pop()] : of;
  return Object.entries(resolved?.properties ?? {}).map(([name, member]) => ({
    name,
    input: h('input', member.format === 'binary' || name === 'file' ? { type: 'file' } : { type: 'text', '.value': member.example ?? (name === 'purpose' ? 'batch' : '') }),
  }));
}

async function read(response, pre) {
  const json_ = /json/.test(response.headers.get('content-type') ?? '') && !/jsonl|ndjson/.test(response.headers.get('content-type') ?? '');
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let all = '';
  let length = 0;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    length += value.length;
    if (all.length < SHOWN) {
      const part = value.slice(0, SHOWN - all.length);
      all += part;
      if (!json_) pre.append(shown(part));
    }
  }
  if (json_) {
    if (length <= SHOWN) pre.replaceWith(json(all, { class: 'answer-body', tabindex: '0', 'aria-label': t('Response body') }));
    else pre.append(shown(all));
  }
  if (length > SHOWN) pre.after(h('p', { class: 'quiet' }, t('The text has {count} characters. Only the beginning is shown.', { count: number(length) })));
}
