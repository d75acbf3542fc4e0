// Databases: the list of connections, and the tables, questions, queries and history of one.

import { get, path as at, reason, send } from '../api.js';
import { address, keep, note, problem } from '../app.js';
import { chart, plan } from '../chart.js';
import '../code.js';
import { grid } from '../grid.js';
import { history } from '../history.js';
import { number, shown, t } from '../text.js';
import { fold, long } from '../value.js';
import { button, field, fill, h, link, tabs, textOf } from '../view.js';

/** Number of previous questions sent as context, so that "and only Berlin?" works. */
const MOST_BEFORE = 5;

export default async function databases({ path, query, signal }) {
  if (path.length > 1) return database(path[1], query, signal);
  const { databases } = await get('api/v1/dbs', { signal });
  return [
    h('h1', null, t('Databases')),
    databases.length === 0
      ? h('p', null, t('No databases. Add a connection with PUT /api/v1/dbs/NAME or quillet sql add.'))
      : databases.map((one) =>
          h(
            'section',
            { class: 'card' },
            h('h2', null, link(h('bdi', null, shown(one.name, 100)), address(['databases', one.name]))),
            h('p', { class: 'foreign' }, shown(one.description ?? '', 500)),
            h('div', { class: 'row' }, h('span', { class: 'badge' }, shown(one.dbType, 40)), h('code', { class: 'grow foreign' }, shown(one.url, 300)), test(one.name)),
          ),
        ),
  ];
}

/** Creates a button that tests the connection and shows the result. */
function test(name) {
  const said = h('span', { role: 'status' });
  return [
    button(t('Test connection'), async () => {
      said.className = 'quiet';
      said.textContent = '…';
      try {
        const found = await send('POST', at`api/v1/dbs/${name}/test`);
        said.className = 'good';
        said.textContent = t('Connected: version {version}, {ms} ms', { version: shown(found.version ?? '?', 60), ms: found.executionTimeMs });
        for (const warning of found.warnings ?? []) note(typeof warning === 'string' ? warning : (warning.message ?? JSON.stringify(warning)));
      } catch (error) {
        said.className = 'bad';
        said.textContent = shown(reason(error), 500);
      }
    }),
    said,
  ];
}

async function database(name, query, signal) {
  const about = await get(at`api/v1/dbs/${name}`, { signal });
  const talk = [];
  const question = h('input', { type: 'text', '.value': query.get('q') ?? '' });
  const sql = h('q-code');
  const how = h('div');
  const out = h('div');
  let asked = '';

  const busy = (form, is) => form.querySelectorAll('button').forEach((one) => (one.disabled = is));

  const asking = h(
    'form',
    {
      onsubmit: async (event) => {
        event.preventDefault();
        if (!textOf(question).trim()) return;
        keep({ q: textOf(question) });
        busy(asking, true);
        fill(how, h('p', { class: 'quiet', role: 'status' }, t('Generating the query…')));
        fill(out);
        try {
          const body = { prompt: textOf(question), ...(talk.length ? { previous: talk.slice(-MOST_BEFORE) } : {}) };
          const found = await send('POST', at`api/v1/dbs/${name}/query/natural`, body, { signal });
          asked = textOf(question);
          sql.value = found.generatedSql;
          keep({ sql: found.generatedSql });
          fill(how, why(found));
          writing.querySelector('button').focus();
        } catch (error) {
          if (!signal.aborted) fill(how, problem(error));
        } finally {
          busy(asking, false);
        }
      },
    },
    field(t('Question'), question, t('The model writes a query. It runs only when you press Run.')),
    h('div', { class: 'row' }, h('button', { class: 'main' }, t('Generate query')), button(t('Clear context'), () => ((talk.length = 0), note(t('Context cleared. The next question is independent of the previous ones.'))), { class: 'plain' })),
  );

  const writing = h(
    'form',
    {
      onsubmit: (event) => {
        event.preventDefault();
        run();
      },
    },
    h('h2', null, t('Query')),
    sql,
    h(
      'div',
      { class: 'row' },
      h('button', { class: 'main' }, t('Run')),
      button(t('Format query'), async () => {
        try {
          const text = sql.text;
          const { formatted } = await send('POST', 'api/v1/dbs/format', { sql: text });
          // The query may have been edited since the request.
          if (sql.text === text) sql.value = formatted;
        } catch (error) {
          note(reason(error), 'bad');
        }
      }),
    ),
  );
  sql.label = t('SQL');
  sql.value = query.get('sql') ?? '';

  async function run() {
    if (!sql.value.trim()) return;
    keep({ sql: sql.text });
    // If the question changed since the query was generated, the query has no question.
    if (textOf(question) !== asked) asked = '';
    busy(writing, true);
    fill(out, h('p', { class: 'quiet', role: 'status' }, t('Running the query…')));
    try {
      const found = await send('POST', at`api/v1/dbs/${name}/query`, { sql: sql.text, ...(asked ? { naturalQuery: asked } : {}) }, { signal });
      if (asked) talk.push({ question: asked, sql: sql.text });
      fill(out, rows(found));
    } catch (error) {
      if (!signal.aborted) fill(out, problem(error), place(error));
    } finally {
      busy(writing, false);
    }
  }

  /** Creates a button that moves the cursor to the error. */
  function place(error) {
    const position = error.problem?.position;
    if (!position) return null;
    return button(t('Go to error'), () => {
      const before = sql.value.split('\n').slice(0, position.line - 1).join('\n').length;
      sql.go(before + (position.line > 1 ? 1 : 0) + position.column - 1);
    });
  }

  const view = tabs(
    t('Database'),
    [
      ['ask', t('Ask'), () => [asking, how, writing, out]],
      ['tables', t('Tables'), () => tables(name, signal)],
      [
        'history',
        t('History'),
        () =>
          history(name, signal, (one) => {
            question.value = one.naturalQuery ?? '';
            asked = one.naturalQuery ?? '';
            sql.value = one.sqlContent;
            keep({ sql: one.sqlContent, q: one.naturalQuery ?? '' });
            view.querySelector('[role="tab"]').click();
          }),
      ],
    ],
    query.get('tab') ?? 'ask',
    (tab) => keep({ tab }),
  );
  return [
    h('div', { class: 'row' }, h('h1', { class: 'grow' }, h('bdi', null, shown(name, 100))), link(t('All databases'), address(['databases']))),
    h('p', { class: 'foreign' }, shown(about.description ?? '', 500)),
    h('div', { class: 'row' }, h('span', { class: 'badge' }, shown(about.dbType, 40)), test(name)),
    view,
  ];
}

/** Explains the query: tables shown to the model, repairs and examples. */
function why(found) {
  return [
    found.explanation && h('p', { class: 'foreign' }, shown(found.explanation, 2000)),
    found.fallbackUsed && h('p', { class: 'warn' }, shown(found.fallbackReason ?? t('Table selection by the model failed. The tables were selected without the model.'), 500)),
    fold(t('Tables shown to the model ({count})', { count: found.selectedTables?.length ?? 0 }), () =>
      h(
        'ul',
        null,
        (found.selectedTables ?? []).map((table) => h('li', null, h('bdi', null, shown(table.name, 200)), h('span', { class: 'quiet foreign' }, ` ${shown((table.why ?? []).join(', '), 300)}`))),
      ),
    ),
    (found.repairs ?? []).length > 0 &&
      fold(t('Rejected queries ({count})', { count: found.repairs.length }), () =>
        found.repairs.map((one) => [long(one.sql ?? ''), h('p', { class: 'warn foreign' }, shown(one.error ?? one.message ?? '', 500))]),
      ),
    (found.examples ?? []).length > 0 && h('p', { class: 'quiet' }, t('Example queries shown to the model: {count}', { count: found.examples.length })),
    h(
      'p',
      { class: 'quiet' },
      h('bdi', null, shown(found.model ?? '', 100)),
      found.tokens ? ` · ${t('{input} tokens in, {output} out', { input: number(found.tokens.prompt ?? 0), output: number(found.tokens.completion ?? 0) })}` : null,
    ),
  ];
}

function rows(found) {
  const { columnInfo, rows: list, truncated, truncatedBy } = found.result;
  const planned = plan(columnInfo, list);
  return [
    h('h2', null, t('Rows')),
    h('p', { role: 'status' }, t('{count} rows in {ms} ms', { count: number(list.length), ms: found.executionTimeMs })),
    truncated && h('p', { class: 'warn' }, t('The result is incomplete because of the limit on {what}.', { what: t(truncatedBy ?? 'rows') })),
    planned && chart(planned),
    grid(t('Query results'), columnInfo, list),
  ];
}

function tables(name, signal) {
  const body = h('div');
  const search = h('input', { type: 'search', oninput: () => draw() });
  let known = null;

  async function load(refresh) {
    fill(body, h('p', { class: 'quiet', role: 'status' }, '…'));
    try {
      known = await get(at`api/v1/dbs/${name}/metadata` + (refresh ? '?refresh=true' : ''), { signal });
      draw();
    } catch (error) {
      if (!signal.aborted) fill(body, problem(error));
    }
  }

  function draw() {
    if (!known) return;
    const word = textOf(search).toLowerCase();
    const found = known.tables.filter((table) => !word || JSON.stringify([table.tableName, table.comment, table.columns.map((one) => [one.name, one.comment])]).toLowerCase().includes(word));
    fill(
      body,
      h('p', { class: 'quiet', role: 'status' }, t('{found} of {all} tables', { found: number(found.length), all: number(known.tables.length) })),
      found.slice(0, 500).map((table) => fold([h('b', null, h('bdi', null, shown(`${table.schemaName}.${table.tableName}`, 200))), ' ', h('span', { class: 'quiet foreign' }, shown(table.comment ?? '', 200))], () => columns(table), found.length === 1)),
    );
  }

  load(false);
  return [h('div', { class: 'row' }, h('div', { class: 'grow' }, field(t('Search tables'), search)), button(t('Refresh tables'), () => load(true))), body];
}

function columns(table) {
  const foreign = (name) => (table.foreignKeys ?? []).filter((key) => key.columns.includes(name)).map((key) => `→ ${key.refTable}.${key.refColumns.join(', ')}`).join(' ');
  return [
    h(
      'div',
      { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': shown(table.tableName, 100) },
      h(
        'table',
        null,
        h('thead', null, h('tr', null, [t('Column'), t('Type'), t('Keys'), t('Comment')].map((head) => h('th', { scope: 'col' }, head)))),
        h(
          'tbody',
          null,
          table.columns.map((column) =>
            h(
              'tr',
              null,
              h('th', { scope: 'row' }, h('bdi', null, shown(column.name, 200))),
              h('td', null, h('code', null, shown(column.dataType, 100)), column.isNullable ? ' NULL' : null),
              h('td', null, column.isPrimaryKey ? t('primary key') : null, ' ', h('bdi', null, shown(foreign(column.name), 200))),
              h('td', { class: 'foreign' }, shown(column.comment ?? '', 300)),
            ),
          ),
        ),
      ),
    ),
  ];
}
