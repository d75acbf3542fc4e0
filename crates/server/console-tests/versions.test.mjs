// Versions and labels: history, comparison, labels and weights.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { clean, everywhere, reach, serve, visit } from './harness.mjs';

const server = await serve();
let numbers = 0;

/** Stores a prompt with three versions. production points to the first. */
async function stored() {
  numbers += 1;
  const id = `versioned.p${numbers}`;
  for (const [text, message] of [['Hello {{ name }}!', 'First'], ['Hello {{ name }},\nhow are you?', 'Longer'], ['Hi {{ name }},\nhow are you?', 'Shorter']]) {
    await server.api('PUT', `api/v1/prompts/${id}?message=${message}`, { format: 'jinja', userPrompt: text });
  }
  await server.api('PUT', `api/v1/prompts/${id}/labels/production`, { version: 1 });
  return id;
}

const address = (id, query = {}) => `#/prompts/${id}?${new URLSearchParams({ tab: 'versions', variables: '{"name":"Ada"}', ...query })}`;
const labels = async (id) => (await server.api('GET', `api/v1/prompts/${id}/labels`)).labels;
const rowOf = (page, table, name) => page.getByRole('region', { name: table }).getByRole('row', { name });

test('versions with author, message, time and labels', async () => {
  const id = await stored();
  const page = await visit(server, address(id));
  const rows = page.getByRole('region', { name: `Versions of ${id}` }).getByRole('row');
  await rows.nth(3).waitFor();
  assert.match(await rows.nth(1).textContent(), /^3anonymous.*Shorterlatest/);
  assert.match(await rows.nth(3).textContent(), /^1anonymous.*Firstproduction/);
  clean(page);
});

test('two versions are compared by definition and by rendered output', async () => {
  const id = await stored();
  const page = await visit(server, address(id, { from: 1, to: 3 }));
  const text = page.getByRole('region', { name: 'Differences between definitions' });
  await text.getByText('+  Hi {{ name }},').waitFor();
  const rendered = page.getByRole('region', { name: 'Differences in rendered output' });
  await rendered.getByText('- Hello Ada!').waitFor();
  await rendered.getByText('+ Hi Ada,').waitFor();
  await page.getByLabel('From version').selectOption('2');
  await rendered.getByText('- Hello Ada,').waitFor();
  await rendered.getByText('  how are you?').waitFor();
  assert.match(page.url(), /from=2&to=3/);
  await page.getByLabel('name').fill('Bo');
  await rendered.getByText('+ Hi Bo,').waitFor();
  await page.getByRole('button', { name: 'Compare version 1 with the latest' }).click();
  await rendered.getByText('- Hello Bo!').waitFor();
  clean(page);
});

test('a label is moved, rolled back and removed by keyboard', async () => {
  const id = await stored();
  const page = await visit(server, address(id));
  await page.getByRole('button', { name: 'Set label… for version 3' }).waitFor();
  await reach(page, page.getByRole('button', { name: 'Set label… for version 3' }));
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Enter');
  await page.getByText('production now points to version 3.').waitFor();
  assert.deepEqual(await labels(id), { production: 3 });
  await reach(page, page.getByRole('button', { name: 'Roll back production' }));
  await page.keyboard.press('Enter');
  await page.getByText('Rolled production back to its previous version.').waitFor();
  assert.deepEqual(await labels(id), { production: 1 });
  await reach(page, page.getByRole('button', { name: 'Remove label production' }));
  await page.keyboard.press('Enter');
  await reach(page, page.getByRole('dialog').getByRole('button', { name: 'Remove label' }));
  await page.keyboard.press('Enter');
  await page.getByText('No labels. Requests get the latest version.').waitFor();
  assert.deepEqual(await labels(id), {});
  clean(page);
});

test('a weighted label', async () => {
  const id = await stored();
  const page = await visit(server, address(id));
  await page.getByRole('button', { name: 'Set weighted label' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Weight of version 3').fill('10');
  await dialog.getByLabel('Weight of version 2').fill('0');
  await dialog.getByLabel('Weight of version 1').fill('90');
  await dialog.getByLabel('Split by').fill('session');
  await dialog.getByRole('button', { name: 'Save weights' }).click();
  await rowOf(page, `Labels of ${id}`, /version 1: 90, version 3: 10 · by session/).waitFor();
  assert.deepEqual(await labels(id), { production: { versions: { 1: 90, 3: 10 }, by: 'session' } });
  clean(page);
});

test('a rejected change shows the reason', async () => {
  const id = await stored();
  const page = await visit(server, address(id));
  await page.getByRole('button', { name: 'Roll back production' }).click();
  await page.getByRole('alert').getByText('has no version before 1').waitFor();
  // Someone else moved the label after this page loaded.
  await server.api('PUT', `api/v1/prompts/${id}/labels/production`, { version: 2 });
  await page.getByRole('button', { name: 'Set label… for version 3' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Set label' }).click();
  await page.getByRole('alert').getByText('history.conflict').waitFor();
  assert.deepEqual(await labels(id), { production: 2 });
  clean(page);
});

test('a protected label needs the promote permission', async () => {
  const guarded = await serve({
    args: ['--demo', '--model', 'mock', '--config', '{folder}/quillet.toml'],
    files: { 'quillet.toml': '[server.token.writer]\nsecret = "secret-of-the-writer"\nrights = ["read", "render", "write"]\n' },
  });
  const page = await visit(guarded, '#/prompts/hello?tab=versions', { token: 'secret-of-the-writer' });
  await page.getByRole('button', { name: 'Set label… for version 1' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Set label' }).click();
  await page.getByRole('alert').getByText('history.protected').waitFor();
  clean(page);
});

test('versions open in the playground with the variables', async () => {
  const id = await stored();
  const page = await visit(server, address(id, { from: 1, to: 3 }));
  await page.getByRole('link', { name: 'Open both in playground' }).click();
  await page.getByRole('heading', { name: 'Playground' }).waitFor();
  assert.equal(await page.getByLabel('Version of column 1').inputValue(), '1');
  assert.equal(await page.getByLabel('Version of column 2').inputValue(), '3');
  assert.equal(await page.getByLabel(/^name/).inputValue(), 'Ada');
  clean(page);
});

test('versions in all sizes, languages and themes', async () => {
  const id = await stored();
  await everywhere(server, address(id), (page) => page.locator('.diff .plus').nth(1).waitFor());
});
