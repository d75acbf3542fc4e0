// The prompt list: tree, list, search and diagnostics, by mouse and keyboard.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { clean, everywhere, longTasks, reach, ready, serve, SPEED, visit } from './harness.mjs';

const server = await serve();
await server.api('PUT', 'api/v1/prompts/team.greet.hello?message=First', { format: 'jinja', name: 'Saying hello', userPrompt: 'Hello {{ name }}, dear colleague' });
await server.api('PUT', 'api/v1/prompts/team.greet.bye', { format: 'jinja', userPrompt: 'Goodbye {{ name }} "and" \\o/' });
await server.api('PUT', 'api/v1/prompts/team%2Fpath%3Ato.it', { format: 'go', userPrompt: 'Path' });
await server.api('PUT', 'api/v1/prompts/team.broken?broken=allow', { format: 'go', userPrompt: 'one\n{{ if' });
await server.api('PUT', 'api/v1/prompts/team.greet.hello/labels/production', { version: 1 });

const row = (page, name) => page.locator('q-list a', { hasText: name });

test('a tree of ID segments shows labels and authors of visible rows', async () => {
  const page = await visit(server, '#/prompts');
  const folder = page.getByRole('treeitem', { name: /^▾?\s*greet\./ });
  assert.equal(await folder.getAttribute('aria-level'), '2');
  await row(page, 'hello Saying hello').getByText('production').waitFor();
  await row(page, 'hello Saying hello').getByText(/anonymous, /).waitFor();
  for (const [name, level] of [['team/', '1'], ['path.', '2'], ['to.', '3'], ['it', '4']]) {
    const found = page.locator(`q-list a[aria-level="${level}"]`).filter({ has: page.getByText(name, { exact: true }) });
    assert.equal(await found.count(), 1, name);
  }
  await folder.click();
  assert.equal(await row(page, 'Saying hello').count(), 0);
  await page.getByRole('treeitem', { name: /greet\./ }).click();
  await row(page, 'Saying hello').click();
  await page.getByRole('heading', { name: 'team.greet.hello' }).waitFor();
  clean(page);
});

test('the tree by keyboard', async () => {
  const page = await visit(server, '#/prompts?q=');
  await reach(page, page.locator('q-list a').first());
  const focused = () => page.evaluate(() => document.activeElement.textContent);
  await page.keyboard.press('End');
  await page.keyboard.press('Home');
  assert.match(await focused(), /code\./);
  await page.keyboard.press('ArrowLeft');
  assert.equal(await page.locator('q-list a:focus').getAttribute('aria-expanded'), 'false');
  await page.keyboard.press('ArrowDown');
  assert.match(await focused(), /evaluator\./);
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('ArrowRight');
  assert.equal(await page.locator('q-list a:focus').getAttribute('aria-expanded'), 'true');
  await page.keyboard.press('ArrowRight');
  assert.match(await focused(), /explain/);
  await page.keyboard.press('ArrowLeft');
  assert.match(await focused(), /code\./);
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'code.explain' }).waitFor();
  clean(page);
});

test('invalid prompts are found with their location', async () => {
  const page = await visit(server, '#/prompts');
  await page.getByLabel('Status').selectOption('invalid');
  await page.getByText('1 of 10 prompts').waitFor();
  await row(page, 'broken').last().getByText('team.broken.prompt:2:6 unclosed action').waitFor();
  assert.match(page.url(), /state=invalid/);
  await page.getByLabel('View').selectOption('list');
  await row(page, 'team.broken').waitFor();
  await page.reload();
  await ready(page);
  await row(page, 'team.broken').waitFor();
  clean(page);
});

test('search covers IDs, titles and text', async () => {
  const page = await visit(server, '#/prompts?as=list');
  const search = page.getByRole('searchbox');
  const found = async (words, ids) => {
    await search.fill(words);
    await page.getByText(`${ids.length} of 10 prompts`).waitFor();
    const rows = await page.locator('q-list a bdi').allTextContents();
    assert.deepEqual(rows.map((text) => text.split(' ')[0]), ids, words);
  };
  await found('GREET hello', ['team.greet.hello']);
  await found('saying', ['team.greet.hello']);
  await found('colleague', ['team.greet.hello']);
  await found('goodbye "and" \\o/', ['team.greet.bye']);
  await found('nobody says this', []);
  assert.match(page.url(), /q=nobody/);
  clean(page);
});

test('a prompt is created and deleted by keyboard', async () => {
  const page = await visit(server, '#/prompts');
  await reach(page, page.getByRole('link', { name: 'New prompt' }));
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'New prompt' }).waitFor();
  await reach(page, page.getByLabel('ID', { exact: true }));
  await page.keyboard.type('made.here');
  await reach(page, page.getByLabel('Format'));
  await page.keyboard.type('jinja');
  await reach(page, page.getByRole('button', { name: 'Create prompt' }));
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'made.here' }).waitFor();
  await reach(page, page.getByLabel('Template userPrompt'));
  await page.keyboard.type('Made for {{ who }}');
  await page.keyboard.press('Control+s');
  await page.getByText('Saved version 1.').waitFor();
  assert.deepEqual(await server.api('GET', 'api/v1/prompts/made.here/versions/1').then(({ definition }) => definition), {
    format: 'jinja',
    userPrompt: 'Made for {{ who }}',
    parameters: [],
  });
  await page.reload();
  await ready(page);
  await reach(page, page.getByRole('button', { name: 'Delete prompt' }));
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  await reach(page, page.getByRole('dialog').getByRole('button', { name: 'Delete prompt' }));
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Prompts' }).waitFor();
  await assert.rejects(server.api('GET', 'api/v1/prompts/made.here'), /404/);
  clean(page);
});

test('the list in all sizes, languages and themes', async () => {
  await everywhere(server, '#/prompts', (page) => page.locator('q-list a').first().waitFor());
  await everywhere(server, '#/prompts?as=list&q=nothing+has+this');
  await everywhere(server, '#/prompts?new=1');
});

test('ten thousand prompts render few rows and keep the page responsive', async (t) => {
  const ids = Array.from({ length: 10_000 }, (_, index) => `area${index % 20}.group${Math.floor(index / 20) % 25}.prompt${index}`);
  const files = Object.fromEntries(ids.map((id) => [`store/prompts/${id.replaceAll('.', '/')}.j2`, `Hello ${id} {{ name }}`]));
  const big = await serve({ args: ['--store', 'dir:{folder}/store', '--model', 'mock'], files });
  const page = await visit(big, '#/prompts?as=list');
  let asked = 0;
  page.on('request', () => (asked += 1));
  await page.getByText('10,000 of 10,000 prompts').waitFor();
  const list = page.locator('q-list');
  const scrolled = await longTasks(page, async () => {
    for (let step = 0; step < 60; step += 1) {
      await list.evaluate((element, to) => (element.scrollTop = to), step * 6_000);
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => resolve())));
    }
    await list.evaluate((element) => (element.scrollTop = element.scrollHeight));
  });
  await row(page, ids.toSorted().at(-1)).waitFor();
  assert.ok((await page.locator('q-list a').count()) < 80);
  assert.ok(asked < 2_000, `${asked} requests`);
  t.diagnostic(`${asked} requests`);
  const typed = await longTasks(page, async () => {
    await page.getByRole('searchbox').pressSequentially('group24.prompt99');
    await page.getByText(/^\d+ of 10,000 prompts$/).waitFor();
  });
  await page.getByRole('searchbox').fill('');
  const opened = await longTasks(page, async () => {
    await page.getByLabel('View').selectOption('');
    await page.getByRole('treeitem', { name: /area0\./ }).click();
    await page.getByRole('treeitem', { name: /group0\./ }).click();
  });
  await row(page, 'prompt0').first().waitFor();
  t.diagnostic(`tasks over 50 ms, in ms: scrolling ${scrolled}; searching ${typed}; the tree ${opened}`);
  if (SPEED) assert.deepEqual([scrolled, typed, opened], [[], [], []]);
  clean(page);
});
