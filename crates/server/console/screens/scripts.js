// Stored scripts: what is wrong with them, a run with its events as they come, and a dry run.

import { ask, events, get, path as at, send } from '../api.js';
import { address, finding, keep, problem } from '../app.js';
import { messages } from '../messages.js';
import { number, shown, t } from '../text.js';
import { fold, json, long, written } from '../value.js';
import { button, field, fill, h, link } from '../view.js';

export default async function scripts({ path, query, signal }) {
  if (path.length > 1) return script(path[1], query, signal);
  const all = await get('api/v1/prompts?detail=true', { signal });
  const found = all.filter((one) => one.kind === 'script');
  return [
    h('h1', null, t('Scripts')),
    found.length === 0
      ? h('p', null, t('There are no scripts. A script is a file prompts/NAME.ai.yaml of the store, or a prompt of the format script.'))
      : h(
          'div',
          { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': t('Scripts') },
          h(
            'table',
            null,
            h('thead', null, h('tr', null, [t('Script'), t('Where'), t('State')].map((name) => h('th', { scope: 'col' }, name)))),
            h(
              'tbody',
              null,
              found.map((one) =>
                h(
                  'tr',
                  null,
                  h('th', { scope: 'row' }, link(h('bdi', null, shown(one.id, 200)), address(['scripts', one.id]))),
                  h('td', { class: 'foreign' }, shown(one.source ?? '', 200)),
                  h('td', null, one.status === 'invalid' ? h('span', { class: 'badge bad' }, t('broken')) : h('span', { class: 'badge good' }, t('usable'))),
                ),
              ),
            ),
          ),
        ),
  ];
}

async function script(id, query, signal) {
  const about = await get(at`api/v1/prompts/${id}`, { signal });
  const properties = about.parameters?.properties ?? {};
  const required = about.parameters?.required ?? [];
  const names = Object.keys(properties);
  const example = Object.fromEntries(names.filter((name) => required.includes(name)).map((name) => [name, sample(properties[name])]));
  const area = h('textarea', { spellcheck: 'false', '.value': query.get('variables') ?? written(example), oninput: () => keep({ variables: area.value }) });
  const model = h('input', { type: 'text', '.value': query.get('model') ?? '', oninput: () => keep({ model: model.value }) });
  const out = h('section', { 'aria-label': t('What comes of it') });
  const stop = button(t('Stop'), () => running?.abort(), { hidden: true });
  const run = h('button', { class: 'main' }, t('Run'));
  const dry = button(t('Dry run'), () => rehearse());
  let running = null;

  /** The inputs, or `null` where they cannot be read; why is shown then. */
  function given() {
    try {
      const value = area.value.trim() ? JSON.parse(area.value) : {};
      if (value === null || typeof value !== 'object' || Array.isArray(value)) throw new SyntaxError(t('an object is needed'));
      area.removeAttribute('aria-invalid');
      return value;
    } catch (error) {
      area.setAttribute('aria-invalid', 'true');
      fill(out, problem(new Error(t('The inputs are not JSON: {why}', { why: error.message }))));
      return null;
    }
  }

  async function rehearse() {
    const variables = given();
    if (!variables) return;
    fill(out, h('p', { class: 'quiet', role: 'status' }, '…'));
    try {
      const found = await send('POST', at`api/v1/render/prompts/${id}`, { variables }, { signal });
      const tried = found.dry_run ?? {};
      fill(
        out,
        h('h2', null, t('Dry run')),
        tried.requests?.length
          ? tried.requests.map((request, index) => [h('h3', null, t('Request {number} to the model', { number: index + 1 })), messages(Array.isArray(request) ? request : (request.messages ?? request))])
          : [h('h3', null, t('Result')), json(found.rendered_prompt)],
        tried.stopped && h('p', { class: 'warn foreign' }, typeof tried.stopped === 'string' ? shown(tried.stopped, 2000) : shown(tried.stopped.message ?? JSON.stringify(tried.stopped), 2000)),
        [...(tried.warnings ?? []), ...(found.warnings ?? [])].map(warning),
      );
    } catch (error) {
      if (!signal.aborted) fill(out, problem(error));
    }
  }

  async function start() {
    const variables = given();
    if (!variables || running) return;
    running = new AbortController();
    const leave = () => running?.abort();
    signal.addEventListener('abort', leave);
    run.disabled = dry.disabled = true;
    stop.hidden = false;
    const view = played();
    fill(out, h('h2', null, t('Run')), view.node);
    try {
      const body = { variables, stream: true, ...(model.value ? { model: model.value } : {}) };
      const response = await ask('POST', at`api/v1/chat/prompts/${id}`, { body, signal: running.signal });
      let whole = false;
      for await (const { event, data } of events(response)) {
        if (event === 'done') whole = true;
        else view.take(data);
      }
      if (!whole && !view.failed()) throw new TypeError(t('the stream ended before the script did'));
    } catch (error) {
      if (!signal.aborted) out.append(error.name === 'AbortError' ? h('p', { class: 'warn', role: 'status' }, t('Stopped.')) : problem(error));
    } finally {
      signal.removeEventListener('abort', leave);
      running = null;
      run.disabled = dry.disabled = false;
      stop.hidden = true;
    }
  }

  const fixture = (about.source ?? '').replace(/\.ai\.ya?ml$/, '.fixture.yaml');
  return [
    h('div', { class: 'row' }, h('h1', { class: 'grow' }, h('bdi', null, shown(id, 200))), link(t('All scripts'), address(['scripts'])), link(t('Edit'), address(['prompts', id]))),
    about.title && h('p', { class: 'foreign' }, shown(about.title, 300)),
    about.description && about.description !== about.title && h('p', { class: 'foreign' }, shown(about.description, 1000)),
    (about.diagnostics ?? []).length > 0 && [h('h2', null, t('Findings')), about.diagnostics.map(finding)],
    h(
      'form',
      { class: 'card', onsubmit: (event) => (event.preventDefault(), start()) },
      field(t('Inputs'), area, names.length ? t('An object of JSON: {names}', { names: shown(names.map((name) => (required.includes(name) ? `${name}*` : name)).join(', '), 500) }) : t('An object of JSON.')),
      field(t('Model'), model, t('Empty: its own, else that of this service.')),
      h('div', { class: 'row' }, run, dry, stop),
    ),
    out,
    fold(t('Source'), () => long(typeof about.prompt?.source === 'string' ? about.prompt.source : written(about.prompt))),
    fold(t('Tests'), () => [
      h('p', null, t('Tests of a script stand beside it, in {file}. They are run by', { file: shown(fixture || 'NAME.fixture.yaml', 200) })),
      h('pre', null, `quillet test ${shown(fixture || 'prompts/', 200)}`),
    ]),
  ];
}

/** Something of the type that a schema names. */
function sample(schema) {
  if (schema?.default !== undefined) return schema.default;
  if (Array.isArray(schema?.enum)) return schema.enum[0];
  const of = Array.isArray(schema?.type) ? schema.type[0] : schema?.type;
  return { number: 0, integer: 0, boolean: false, array: [], object: {} }[of] ?? '';
}

function warning(one) {
  return h('p', { class: 'warn foreign' }, shown(typeof one === 'string' ? one : (one.message ?? JSON.stringify(one)), 1000));
}

/** A run as it comes: `take(chunk)` is told each chunk of the stream. */
function played() {
  const node = h('div', { role: 'log', 'aria-label': t('Events') });
  let text = null;
  let inner = null;
  let broken = false;

  const line = (label, ...more) => {
    inner = null;
    node.append(h('div', { class: 'turn tool' }, h('span', { class: 'badge' }, label), ' ', ...more));
  };

  function piece(role, words) {
    if (inner?.role !== role) {
      inner = { role, element: h('pre', { class: 'foreign' }) };
      node.append(h('div', { class: 'turn quiet' }, h('span', { class: 'badge' }, t('on the way')), ' ', h('bdi', null, shown(role ?? '', 40)), inner.element));
    }
    inner.element.append(shown(words ?? ''));
  }

  function happened(script) {
    switch (script.event) {
      case 'delta':
        return piece(script.role, script.text);
      case 'printed':
        return line(t('printed'), h('bdi', null, shown(script.text, 4000)));
      case 'tool_call':
        return line(t('Calls'), h('code', null, h('bdi', null, shown(script.name, 200))), json(script.arguments ?? {}));
      case 'tool_result':
        return line(t('Result'), h('code', null, h('bdi', null, shown(script.name, 200))), json(script.result ?? null));
      case 'tool_failed':
        return line(t('Failure'), h('code', null, h('bdi', null, shown(script.name, 200))), h('div', { class: 'bad foreign' }, shown(script.message, 2000)));
      case 'warning':
        return node.append(warning(script.warning));
      case 'result':
        return node.append(
          h('h3', null, t('Result')),
          json(script.result ?? null),
          h('p', { class: 'quiet' }, t('{count} calls of models', { count: number(script.model_calls ?? 0) })),
          ...(script.enforced?.length ? [fold(t('How answers were held to their form'), () => json(script.enforced))] : []),
          ...(script.warnings ?? []).map(warning),
        );
      default:
        return line(shown(script.event, 60), json(script));
    }
  }

  function take(chunk) {
    if (chunk?.error) {
      broken = true;
      node.append(problem(Object.assign(new Error(chunk.error.message ?? JSON.stringify(chunk.error)), { code: chunk.error.code })));
      return;
    }
    if (chunk?.script) happened(chunk.script);
    const delta = chunk?.choices?.[0]?.delta ?? {};
    if (delta.reasoning_content) piece(t('Reasoning'), delta.reasoning_content);
    if (delta.content) {
      if (!text) {
        inner = null;
        text = h('pre', { class: 'foreign' });
        node.append(h('div', { class: 'turn' }, text));
      }
      text.append(shown(delta.content));
    }
    if (chunk?.usage) node.append(h('p', { class: 'quiet' }, t('{input} tokens in, {output} out', { input: number(chunk.usage.prompt_tokens), output: number(chunk.usage.completion_tokens) })));
  }

  return { node, take, failed: () => broken };
}
