// One prompt: header, editor and versions.

import { ask, get, path as at, Refused, send } from '../api.js';
import { address, attempt, go, keep, note } from '../app.js';
import { draft } from '../definition.js';
import { shown, t, when } from '../text.js';
import { button, confirm, h, link, tabs } from '../view.js';
import { forQuery, fromQuery } from '../variables.js';
import { editor } from './editor.js';
import { versions } from './versions.js';

/** Resolves to null if the resource does not exist. Other errors are thrown. */
async function unless404(work) {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Refused && (error.status === 404 || error.status === 501)) return null;
    throw error;
  }
}

/**
 * Loads a prompt: `{ id, definition, revision, version, detail }`. The definition is a string if the
 * store has a prompt file.
 */
async function load(id, signal) {
  // Include the latest write. If the store is unavailable, use the cached version.
  const newest = ask('GET', at`api/v1/prompts/${id}` + '?min_revision=latest', { signal });
  const known = (error) => {
    if (error.status !== 409 && error.status !== 503) throw error;
    return ask('GET', at`api/v1/prompts/${id}`, { signal });
  };
  const detail = await unless404(newest.catch(known));
  if (!detail) return null;
  const revision = detail.headers.get('quillet-revision');
  const body = await detail.json();
  const latest = body.origin === 'extension' ? null : await unless404(get(at`api/v1/prompts/${id}/versions/latest`, { signal }));
  return { id, detail: body, revision, version: latest, definition: latest?.definition ?? body.prompt };
}

export default async function prompt({ path: [, id], query, signal }) {
  const found = await load(id, signal);
  if (!found && !query.get('new')) {
    return [
      h('h1', null, h('bdi', null, shown(id, 200))),
      h('p', null, t('Prompt not found.')),
      link(t('New prompt'), address(['prompts'], { new: 1, id })),
    ];
  }
  const stored = found ?? { id, detail: { origin: 'direct', status: 'valid', diagnostics: [] }, revision: null, version: null, definition: draft(query.get('new'), query.get('format') ?? 'go') };
  // All views of this prompt share the variables.
  const shared = {
    values: fromQuery(query),
    change(values) {
      shared.values = values;
      keep({ variables: forQuery(values) });
      playground.href = playAddress();
    },
  };
  const playAddress = () => address(['play'], { prompt: id, versions: 'latest', variables: forQuery(shared.values) });
  const playground = link(t('Open in playground'), playAddress());
  const about = h('p', { class: 'row quiet' });
  const findings = h('div');

  function describe() {
    const { detail, version } = stored;
    about.replaceChildren(
      ...[
        h('span', { class: `badge ${detail.status === 'valid' ? 'good' : 'bad'}` }, detail.status === 'valid' ? t('valid') : t('invalid')),
        detail.kind === 'script' && h('span', { class: 'badge' }, t('script')),
        detail.origin === 'extension' && h('span', { class: 'badge' }, t('from an extension')),
        version && h('span', null, t('Version {number} by {author}, {time}', { number: version.version, author: shown(version.author, 80), time: when(version.created) })),
        (version?.labels ?? []).map((label) => h('span', { class: 'badge' }, shown(label, 60))),
      ]
        .flat()
        .filter(Boolean),
    );
  }
  describe();

  let edit;
  const panels = tabs(
    t('Prompt views'),
    [
      [
        'edit',
        t('Edit'),
        () =>
          (edit ??= editor({
            stored,
            shared,
            findings,
            signal,
            saved(definition, revision, version, status) {
              const isNew = stored.revision === null;
              Object.assign(stored, { definition, revision, version });
              stored.detail.status = status;
              describe();
              if (isNew) keep({ new: '', format: '' });
            },
          })),
      ],
      ...(found && found.version ? [['versions', t('Versions and labels'), () => versions({ stored, shared, query, signal })]] : []),
    ],
    query.get('tab') ?? 'edit',
    (tab) => keep({ tab }),
  );

  async function remove() {
    const text = t('This also deletes the labels of the prompt, but keeps its versions. If you create the prompt again, its history continues.');
    if (!(await confirm(t('Delete {id}?', { id: shown(id, 120) }), text, t('Delete prompt'), t('Cancel')))) return;
    const done = await attempt(() => send('DELETE', at`api/v1/prompts/${id}`, undefined, { headers: { 'if-match': `"${stored.revision}"` } }));
    if (!done) return;
    edit?.forget?.();
    note(t('Deleted {id}.', { id: shown(id, 120) }));
    go(['prompts']);
  }

  return [
    h(
      'div',
      { class: 'row' },
      h('h1', { class: 'grow' }, h('bdi', null, shown(id, 300))),
      link(t('All prompts'), address(['prompts'])),
      playground,
      found && stored.detail.origin === 'direct' && button(t('Delete prompt'), remove, { class: 'danger' }),
    ),
    stored.detail.title && h('p', null, shown(stored.detail.title, 300)),
    about,
    findings,
    panels,
  ];
}

