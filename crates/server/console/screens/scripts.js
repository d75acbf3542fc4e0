// Stored scripts: diagnostics, runs with live events, and dry runs.

import { get, path as at, send } from '../api.js';
import { address, finding, keep, problem } from '../app.js';
import { messages } from '../messages.js';
import { runner, warning } from '../running.js';
import { shown, t } from '../text.js';
import { fold, json, long, written } from '../value.js';
import { button, field, fill, h, link, textOf } from '../view.js';

export default async function scripts({ path, query, signal }) {
  if (path.length > 1) return script(path[1], query, signal);
  const all = await get('api/v1/prompts?detail=true', { signal });
  const found = all.filter((one) => one.kind === 'script');
  return [
    h('h1', null, t('Scripts')),
    found.length === 0
      ? h('p', null, t('No scripts. Create a prompt of the kind Script, or add a file such as prompts/NAME.ai.yaml to the store.'))
      : h(
          'div',
          { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': t('Scripts') },
          h(
            'table',
            null,
            h('thead', null, h('tr', null, [t('Script'), t('Location'), t('State')].map((name) => h('th', { scope: 'col' }, name)))),
            h(
              'tbody',
              null,
              found.map((one) =>
                h(
                  'tr',
                  null,
                  h('th', { scope: 'row' }, link(h('bdi', null, shown(one.id, 200)), address(['scripts', one.id]))),
                  h('td', { class: 'foreign' }, shown(one.source ?? '', 200)),
                  h('td', null, one.status === 'invalid' ? h('span', { class: 'badge bad' }, t('invalid')) : h('span', { class: 'badge good' }, t('valid'))),
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
  const area = h('textarea', { spellcheck: 'false', '.value': query.get('variables') ?? written(example), oninput: () => keep({ variables: textOf(area) }) });
  const model = h('input', { type: 'text', '.value': query.get('model') ?? '', oninput: () => keep({ model: textOf(model) }) });
  const out = h('section', { 'aria-label': t('Output') });
  const dry = button(t('Dry run'), () => rehearse());
  const running = runner({
    out,
    signal,
    busy: (is) => (dry.disabled = is),
    request() {
      const variables = given();
      return variables && { where: at`api/v1/chat/prompts/${id}`, body: { variables, ...(textOf(model) ? { model: textOf(model) } : {}) } };
    },
  });

  /** Returns the inputs, or shows an error and returns `null` if they are invalid. */
  function given() {
    try {
      const value = textOf(area).trim() ? JSON.parse(textOf(area)) : {};
      if (value === null || typeof value !== 'object' || Array.isArray(value)) throw new SyntaxError(t('a JSON object is required'));
      area.removeAttribute('aria-invalid');
      return value;
    } catch (error) {
      area.setAttribute('aria-invalid', 'true');
      fill(out, problem(new Error(t('Invalid inputs: {why}', { why: error.message }))));
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
          ? tried.requests.map((request, index) => [h('h3', null, t('Model request {number}', { number: index + 1 })), messages(Array.isArray(request) ? request : (request.messages ?? request))])
          : [h('h3', null, t('Result')), json(found.rendered_prompt)],
        tried.stopped && h('p', { class: 'warn foreign' }, typeof tried.stopped === 'string' ? shown(tried.stopped, 2000) : shown(tried.stopped.message ?? JSON.stringify(tried.stopped), 2000)),
        [...(tried.warnings ?? []), ...(found.warnings ?? [])].map(warning),
      );
    } catch (error) {
      if (!signal.aborted) fill(out, problem(error));
    }
  }

  const fixture = (about.source ?? '').replace(/\.ai\.ya?ml$/, '.fixture.yaml');
  return [
    h('div', { class: 'row' }, h('h1', { class: 'grow' }, h('bdi', null, shown(id, 200))), link(t('All scripts'), address(['scripts'])), link(t('Edit'), address(['prompts', id]))),
    about.title && h('p', { class: 'foreign' }, shown(about.title, 300)),
    about.description && about.description !== about.title && h('p', { class: 'foreign' }, shown(about.description, 1000)),
    (about.diagnostics ?? []).length > 0 && [h('h2', null, t('Diagnostics')), about.diagnostics.map(finding)],
    h(
      'form',
      { class: 'card', onsubmit: (event) => (event.preventDefault(), running.start()) },
      field(t('Inputs'), area, names.length ? t('A JSON object. Keys (* required): {names}', { names: shown(names.map((name) => (required.includes(name) ? `${name}*` : name)).join(', '), 500) }) : t('A JSON object.')),
      field(t('Model'), model, t('If empty, the script uses its own model or, if it has none, the default model of the server.')),
      h('div', { class: 'row' }, running.button, dry, running.stop),
    ),
    out,
    fold(t('Source'), () => long(typeof about.prompt?.source === 'string' ? about.prompt.source : written(about.prompt))),
    fold(t('Tests'), () => [
      h('p', null, t('Save tests for this script as {file}, in the same folder. Run them with:', { file: shown(fixture || 'NAME.fixture.yaml', 200) })),
      h('pre', null, `quillet test ${shown(fixture || 'prompts/', 200)}`),
    ]),
  ];
}

/** Returns a sample value for a schema. */
function sample(schema) {
  if (schema?.default !== undefined) return schema.default;
  if (Array.isArray(schema?.enum)) return schema.enum[0];
  const of = Array.isArray(schema?.type) ? schema.type[0] : schema?.type;
  return { number: 0, integer: 0, boolean: false, array: [], object: {} }[of] ?? '';
}
