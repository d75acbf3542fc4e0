// Databases: questions, queries, results with charts, tables and history.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { accessible, clean, everywhere, go, reach, ready, serve, staysText, visit } from './harness.mjs';
import { TEXTS } from './hostile.mjs';

const server = await serve();

async function run(page, sql) {
  await page.getByLabel('SQL').fill(sql);
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.getByRole('button', { name: 'Run', exact: true, disabled: false }).waitFor();
}

test('a question produces a query, rows and a chart, by mouse', async () => {
  const page = await visit(server, '#/databases');
  await page.getByRole('button', { name: 'Test connection' }).click();
  await page.getByText('Connected: version').waitFor();
  await page.getByRole('link', { name: 'demo' }).click();
  await ready(page);
  await page.getByLabel('Question').fill('How many orders per city?');
  await page.getByRole('button', { name: 'Generate query' }).click();
  await page.getByText('Tables shown to the model').click();
  await page.getByText('main.customers', { exact: true }).waitFor();
  assert.match(await page.getByLabel('SQL').inputValue(), /GROUP BY customers\.city/);
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  const chart = page.getByRole('img', { name: /row_count by city/ });
  await chart.waitFor();
  assert.equal(await chart.locator('rect').count(), 15);
  const cells = page.locator('td.number');
  assert.equal(await cells.first().textContent(), '34');
  assert.equal(await cells.first().evaluate((cell) => getComputedStyle(cell).textAlign), 'right');
  await page.getByRole('button', { name: 'Copy as CSV' }).click();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.deepEqual(copied.split('\r\n').slice(0, 3), ['city,row_count', '上海,34', 'London,26']);
  await accessible(page, 'rows with a chart');
});

test('the same by keyboard, and the address restores it', async () => {
  const page = await visit(server, '#/databases/demo');
  await reach(page, page.getByLabel('Question'));
  await page.keyboard.type('How many orders per city?');
  await page.keyboard.press('Enter');
  const button = page.getByRole('button', { name: 'Run', exact: true });
  await page.getByText('Tables shown to the model').waitFor();
  await reach(page, button);
  await page.keyboard.press('Enter');
  await page.getByText('15 rows in').waitFor();
  const again = await visit(server, new URL(page.url()).hash);
  assert.match(await again.getByLabel('SQL').inputValue(), /GROUP BY/);
  assert.equal(await again.getByLabel('Question').inputValue(), 'How many orders per city?');
  const tab = again.getByRole('tab', { name: 'Ask' });
  await reach(again, tab);
  await again.keyboard.press('ArrowRight');
  await again.getByText('main.orders', { exact: true }).waitFor();
  await again.keyboard.press('ArrowRight');
  await again.getByText('SELECT customers.city').first().waitFor();
  clean(page);
  clean(again);
});

test('a time series has a line chart, and unsuitable rows have no chart', async () => {
  const page = await visit(server, '#/databases/demo');
  await run(page, 'SELECT month, sales FROM monthly_sales');
  await page.locator('svg.chart polyline').waitFor();
  await run(page, 'SELECT name, city FROM customers');
  await page.getByText(/rows in/).waitFor();
  assert.equal(await page.locator('svg.chart').count(), 0);
  clean(page);
});

test('rows are paged, and nulls are shown', async () => {
  const page = await visit(server, '#/databases/demo');
  await run(page, 'SELECT o.id, NULL AS lacking FROM orders o');
  await page.getByText('Rows 1 to 100 of').waitFor();
  await page.getByText('NULL').first().waitFor();
  await page.getByRole('button', { name: 'Next rows' }).click();
  await page.getByText('Rows 101 to').waitFor();
  clean(page);
});

test('a rejected query shows the reason and the location', async () => {
  const page = await visit(server, '#/databases/demo');
  await run(page, 'SELECT 1 FROM customers\nWHERE x.nope = 1');
  await page.getByRole('alert').getByText('unknown table or alias x').waitFor();
  await page.getByRole('button', { name: 'Go to error' }).click();
  assert.equal(await page.getByLabel('SQL').evaluate((area) => area.value.slice(area.selectionStart, area.selectionStart + 6)), 'x.nope');
  await run(page, 'DELETE FROM customers');
  await page.getByRole('alert').waitFor();
  await accessible(page, 'a refused query');
});

test('tables and their columns can be searched', async () => {
  const page = await visit(server, '#/databases/demo?tab=tables');
  await page.getByLabel('Search tables').fill('退货');
  await page.getByText('1 of 16 tables').waitFor();
  await page.getByRole('columnheader', { name: 'Column' }).waitFor();
  await page.getByLabel('Search tables').fill('order_items');
  await page.getByText('→ orders.id').first().waitFor();
  await page.getByRole('button', { name: 'Refresh tables' }).click();
  await page.getByText('main.order_items').waitFor();
  await accessible(page, 'tables');
});

test('queries in the history are searched, reused and used as examples', async () => {
  await server.api('POST', 'api/v1/dbs/demo/query', { sql: 'SELECT count(*) FROM reviews', naturalQuery: 'How many reviews are there?' });
  const page = await visit(server, '#/databases/demo?tab=history');
  await page.getByLabel('Search history').fill('reviews');
  await page.getByRole('heading', { name: 'How many reviews are there?' }).waitFor();
  await page.getByText('1 queries').waitFor();
  await page.getByRole('button', { name: 'Use as example' }).click();
  await page.getByText('example', { exact: true }).waitFor();
  await accessible(page, 'the history');
  await page.getByRole('button', { name: 'Remove example' }).press('Enter');
  await page.getByRole('button', { name: 'Use as example' }).waitFor();
  await page.getByRole('button', { name: 'Reuse query' }).click();
  assert.match(await page.getByLabel('SQL').inputValue(), /FROM reviews/);
  assert.equal(await page.getByLabel('Question').inputValue(), 'How many reviews are there?');
  clean(page);
});

test('CSV is quoted, and formulas are disabled', async () => {
  const page = await visit(server, '#/databases');
  const made = await page.evaluate(async () => {
    const { csv } = await import('./console/grid.js');
    return csv([{ key: 'a', name: 'a' }, { key: 'b', name: 'b,"c"' }], [{ a: 1, b: 'x"y' }, { a: null, b: '=cmd()' }, { a: -5, b: '-5' }, { a: true, b: 'two\nlines' }]);
  });
  assert.equal(made, 'a,"b,""c"""\r\n1,"x""y"\r\n,\'=cmd()\r\n-5,-5\r\ntrue,"two\nlines"');
});

test('the views are accessible in all sizes, languages and themes', async () => {
  await everywhere(server, '#/databases');
  await everywhere(server, '#/databases/demo?sql=SELECT%20city%2C%20count(*)%20AS%20n%20FROM%20customers%20GROUP%20BY%20city', async (page, language) => {
    await page.getByRole('button', { name: language === 'zh' ? '运行' : 'Run', exact: true }).click();
    await page.locator('svg.chart').waitFor();
  });
  await everywhere(server, '#/databases/demo?tab=tables', async (page) => page.locator('[role="tabpanel"] summary').first().click());
  await everywhere(server, '#/databases/demo?tab=history', async (page) => page.locator('[role="tabpanel"] section').first().waitFor());
});

test('rows, column names, errors, questions and comments are never markup', async () => {
  const page = await visit(server, '#/databases/demo');
  const literal = (text) => `'${text.replaceAll("'", "''")}'`;
  // SQLite ends text at a null byte, queries have a maximum length, and lone surrogates are invalid.
  const texts = TEXTS.filter(([, text]) => text.trim() && text.length <= 20_000 && !text.includes('\u0000') && text.isWellFormed());
  let shown = 0;
  for (const [name, text] of texts) {
    await run(page, `SELECT ${literal(text)} AS name, 1 AS amount FROM customers LIMIT 1`);
    shown += await page.getByText(/^1 rows in/).count();
    await staysText(page, `${name} in a row, or in why not`);
  }
  assert.ok(shown >= 60, `${shown} of ${texts.length} are in rows`);
  for (const [name, text] of texts.filter(([, text]) => text.length <= 400)) {
    await page.getByLabel('SQL').fill(`SELECT 1 AS "${text.replaceAll('"', '""')}" FROM customers LIMIT 1`);
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByRole('button', { name: 'Run', exact: true, disabled: false }).waitFor();
    await staysText(page, `${name} as a column`);
    await server.api('POST', 'api/v1/dbs/demo/query', { sql: 'SELECT 1 FROM customers LIMIT 1', naturalQuery: text }).catch(() => {});
  }
  await go(page, '#/databases/demo?tab=history');
  await page.locator('[role="tabpanel"] section').first().waitFor();
  await page.getByRole('button', { name: 'Load more' }).click();
  await page.locator('[role="tabpanel"] section').nth(60).waitFor();
  await staysText(page, 'the history');
  await go(page, `#/databases/${encodeURIComponent('<img src=x onerror=hostile=1>')}`);
  await page.getByRole('alert').waitFor();
  await staysText(page, 'a name that no database has');
});
