// A paged table of values, with numbers aligned right and CSV export.

import { number, shown, t } from './text.js';
import { copy, save } from './value.js';
import { button, fill, h } from './view.js';

const PAGE = 100;
const NUMBERS = /^(integer|number|decimal|float)$/;

/**
 * `columns`: `[{ key, name, type }]`; `rows`: objects with those keys. `type` is the column type of the
 * database routes.
 */
export function grid(caption, columns, rows) {
  const right = columns.map((column) => NUMBERS.test(column.type) || isNumbers(rows, column.key));
  const pages = Math.max(1, Math.ceil(rows.length / PAGE));
  const body = h('tbody');
  const at = h('span', { role: 'status' });
  let page = 0;

  const back = button(t('Previous rows'), () => turn(page - 1));
  const on = button(t('Next rows'), () => turn(page + 1));

  function turn(to) {
    page = Math.min(pages - 1, Math.max(0, to));
    const first = page * PAGE;
    const part = rows.slice(first, first + PAGE);
    fill(
      body,
      part.map((row) =>
        h('tr', null, columns.map((column, index) => h('td', { class: right[index] ? 'number' : null }, cell(row[column.key])))),
      ),
    );
    at.textContent = t('Rows {first} to {last} of {all}', {
      first: number(rows.length ? first + 1 : 0),
      last: number(first + part.length),
      all: number(rows.length),
    });
    back.disabled = page === 0;
    on.disabled = page === pages - 1;
  }

  turn(0);
  return h(
    'div',
    null,
    h(
      'div',
      { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption },
      h(
        'table',
        null,
        h('caption', { class: 'quiet' }, caption),
        h(
          'thead',
          null,
          h(
            'tr',
            null,
            columns.map((column, index) =>
              h('th', { scope: 'col', class: right[index] ? 'number' : null }, h('bdi', null, shown(column.name, 200))),
            ),
          ),
        ),
        body,
      ),
    ),
    h(
      'div',
      { class: 'row' },
      at,
      pages > 1 && [back, on],
      button(t('Copy as CSV'), () => copy(csv(columns, rows))),
      button(t('Download as CSV'), () => save('rows.csv', csv(columns, rows), 'text/csv')),
    ),
  );
}

function isNumbers(rows, key) {
  const given = rows.map((row) => row[key]).filter((value) => value !== null && value !== undefined);
  return given.length > 0 && given.every((value) => typeof value === 'number');
}

function cell(value) {
  if (value === null || value === undefined) return h('span', { class: 'quiet' }, 'NULL');
  return h('bdi', null, shown(typeof value === 'object' ? JSON.stringify(value) : value, 500));
}

/**
 * CSV after RFC 4180. Text that a spreadsheet would run as a formula gets an apostrophe in front. In
 * the server's own CSV files, `guard_formulas` turns this on.
 */
export function csv(columns, rows) {
  const line = (values) => values.map(quoted).join(',');
  const head = line(columns.map((column) => column.name));
  return [head, ...rows.map((row) => line(columns.map((column) => row[column.key])))].join('\r\n');
}

function quoted(value) {
  if (value === null || value === undefined) return '';
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
