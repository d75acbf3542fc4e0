// Query history of a database: search, reuse a query, and use a query as an example.

import { ask, get, path as at, send } from './api.js';
import { attempt, problem } from './app.js';
import { number, shown, t, when } from './text.js';
import { long } from './value.js';
import { button, field, fill, h, later, textOf } from './view.js';

const PAGE = 50;

/** Creates the view. `take(record)` receives the query to reuse. */
export function history(name, signal, take) {
  const list = h('div');
  const said = h('p', { class: 'quiet', role: 'status' });
  const search = h('input', { type: 'search', oninput: later(() => load(), 200) });
  const more = button(t('Load more'), () => load(next), { hidden: true });
  let next = null;
  let turn = 0;

  async function load(before) {
    const mine = (turn += 1);
    const words = textOf(search).trim();
    const given = new URLSearchParams({ limit: PAGE, ...(words ? { query: words } : {}), ...(before ? { before } : {}) });
    try {
      const found = await get(at`api/v1/dbs/${name}/history` + (words ? '/search' : '') + `?${given}`, { signal });
      if (mine !== turn) return;
      next = found.nextCursor;
      more.hidden = !found.hasMore;
      said.textContent = found.total ? t('{count} queries', { count: number(found.total) }) : t('No queries.');
      if (!before) fill(list);
      list.append(...found.items.map(record));
    } catch (error) {
      if (!signal.aborted && mine === turn) fill(list, problem(error));
    }
  }

  function record(one) {
    const row = h('div', { class: 'row' });
    const node = h(
      'section',
      { class: 'card', 'aria-label': t('Query {id}', { id: one.id }) },
      one.naturalQuery && h('h2', null, h('bdi', null, shown(one.naturalQuery, 500))),
      long(one.sqlContent),
      h('p', { class: 'quiet' }, when(one.executedAt), ' · ', t('{count} rows in {ms} ms', { count: number(one.rowCount ?? 0), ms: one.executionTimeMs ?? 0 })),
      row,
    );
    draw(one);

    function draw(of) {
      fill(
        row,
        of.accepted && h('span', { class: 'badge good' }, t('example')),
        button(t('Reuse query'), () => take(of)),
        of.naturalQuery &&
          button(of.accepted ? t('Remove example') : t('Use as example'), () =>
            attempt(async () => {
              const where = at`api/v1/dbs/${name}/history/${of.id}/accept`;
              if (of.accepted) await ask('DELETE', where);
              else await send('POST', where);
              draw({ ...of, accepted: !of.accepted });
              row.querySelector('button:last-of-type').focus();
            }),
          ),
      );
    }
    return node;
  }

  load();
  return [field(t('Search history'), search), said, list, more];
}
