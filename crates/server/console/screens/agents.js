// Agents: the list, the inbox of pending approvals, and the chat.

import { get } from '../api.js';
import { address, attempt } from '../app.js';
import { approval } from '../approval.js';
import { shown, t, when } from '../text.js';
import { button, fill, h, link } from '../view.js';
import { chat } from '../chat.js';

export default async function agents({ path, query, signal }) {
  if (path[1] === 'inbox') return inbox(signal);
  if (path[1] === 'chat') return chat(path[2] ?? '', query, signal);

  const all = await get('api/v1/agents?detail=true', { signal });
  const said = h('tbody', null, all.map(row));
  return [
    h(
      'div',
      { class: 'row' },
      h('h1', { class: 'grow' }, t('Agents')),
      link(t('Inbox'), address(['agents', 'inbox'])),
      link(t('Chat with a model'), address(['agents', 'chat'])),
    ),
    all.length === 0
      ? h('p', null, t('No agents. Add a file to agents/ in the store, or use PUT /api/v1/agents/NAME.'))
      : h(
          'div',
          { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': t('Agents') },
          h(
            'table',
            null,
            h('thead', null, h('tr', null, [t('Name'), t('Description'), t('State')].map((name) => h('th', { scope: 'col' }, name)))),
            said,
          ),
        ),
  ];
}

function row({ id, status, description, model, asks, diagnostics }) {
  const broken = status === 'invalid';
  return h(
    'tr',
    null,
    h('th', { scope: 'row' }, link(h('bdi', null, shown(id, 200)), address(['agents', 'chat', id]))),
    h(
      'td',
      null,
      h('bdi', null, shown(description ?? '', 300)),
      h('div', { class: 'quiet' }, model && h('bdi', null, shown(model, 100)), asks && ` · ${t('requires approval for some calls')}`),
    ),
    h(
      'td',
      null,
      h('span', { class: `badge ${broken ? 'bad' : 'good'}` }, broken ? t('invalid') : t('valid')),
      diagnostics.map((one) => h('div', { class: 'quiet' }, shown(one.message, 300))),
    ),
  );
}

async function inbox(signal) {
  const list = h('div');
  const said = h('p', { class: 'quiet', role: 'status' });
  async function load() {
    const runs = await get('v1/runs?state=waiting&limit=200', { signal });
    const count = runs.reduce((sum, run) => sum + (run.waiting ?? []).length, 0);
    said.textContent = count ? t('Pending approvals: {count}', { count }) : t('No pending approvals.');
    fill(
      list,
      runs.map((run) =>
        h(
          'section',
          { 'aria-label': t('Run {id}', { id: shown(run.id, 100) }) },
          h('h2', null, h('bdi', null, shown(run.title, 200)), ' ', link(h('code', null, shown(run.id, 100)), address(['runs', run.id]))),
          h('p', { class: 'quiet' }, t('Started {time}', { time: when(run.created_ms) })),
          (run.waiting ?? []).map((waiting) => approval(run.id, waiting, () => setTimeout(() => load().catch(() => {}), 800))),
        ),
      ),
    );
  }
  await load();
  return [
    h('div', { class: 'row' }, h('h1', { class: 'grow' }, t('Inbox')), button(t('Reload'), () => attempt(load)), link(t('Agents'), address(['agents'])), link(t('Runs'), address(['runs']))),
    said,
    list,
  ];
}
