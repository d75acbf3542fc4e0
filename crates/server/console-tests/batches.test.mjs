// Batches: from a request file to its results.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';

import { accessible, clean, everywhere, go, reach, ready, serve, staysText, visit } from './harness.mjs';
import { SHORT, TEXTS } from './hostile.mjs';
import { provider } from './provider.mjs';

let release;
let held = new Promise((resolve) => (release = resolve));
let text = 'An answer.';
const models = await provider((messages) => ({ text, hold: String(messages.at(-1).content).includes('hold') ? held : undefined }));
after(() => models.stop());
const server = await serve({ args: ['--demo', '--model', 'test-model'], env: { OPENAI_BASE_URL: models.url, OPENAI_API_KEY: 'k' } });

const row = (id, name, model = 'prompt/hello') => JSON.stringify({ custom_id: id, method: 'POST', url: '/v1/chat/completions', body: { model, variables: { name }, messages: [] } });
const ROWS = [row('ada', 'Ada'), row('bob', 'Bob'), row('cai', 'Cai', 'prompt/helo')].join('\n');

test('a file is uploaded, a batch created and its answers downloaded, by mouse', async () => {
  const page = await visit(server, '#/batches');
  await page.getByText(/^No batches\./).waitFor();
  await page.getByRole('tab', { name: 'New batch' }).click();
  await page.getByLabel('File', { exact: true }).setInputFiles({ name: 'rows.jsonl', mimeType: 'application/jsonl', buffer: Buffer.from(ROWS) });
  await page.getByRole('button', { name: 'Create batch' }).click();
  await page.getByText('2 completed, 1 failed, 3 total').waitFor();
  await page.getByText('completed', { exact: true }).waitFor();
  await page.getByText('did you mean').waitFor();
  for (const [button, holds] of [['Download answers', 'An answer.'], ['Download errors', 'model_not_found']]) {
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: button }).click()]);
    const chunks = [];
    for await (const chunk of await download.createReadStream()) chunks.push(chunk);
    assert.ok(Buffer.concat(chunks).toString().includes(holds), button);
  }
  await accessible(page, 'a batch that is over');
});

test('lines are entered and a batch is cancelled by keyboard', async () => {
  const page = await visit(server, '#/batches?tab=new');
  await reach(page, page.getByLabel('Or enter lines'));
  await page.keyboard.insertText([row('a', 'hold'), row('b', 'hold')].join('\n'));
  await reach(page, page.getByRole('button', { name: 'Create batch' }));
  await page.keyboard.press('Enter');
  const cancel = page.getByRole('button', { name: 'Cancel batch' });
  await cancel.waitFor();
  await page.getByText('in progress').waitFor();
  await accessible(page, 'a batch on its way');
  await reach(page, cancel);
  await page.keyboard.press('Enter');
  await page.getByText('cancelled', { exact: true }).waitFor();
  release();
  clean(page);
});

test('errors of a file are shown with their lines', async () => {
  const page = await visit(server, '#/batches?tab=new');
  await page.getByRole('button', { name: 'Create batch' }).click();
  await page.getByText('Choose a file or enter lines.').waitFor();
  await page.getByLabel('Or enter lines').fill(`${row('a', 'Ada')}\nnot JSON`);
  await page.getByRole('button', { name: 'Create batch' }).click();
  await page.getByText('invalid_json_line').waitFor();
  await page.getByText('line 2').first().waitFor();
  await accessible(page, 'a batch that failed');
});

test('files are listed, downloaded and deleted', async () => {
  const page = await visit(server, '#/batches?tab=files');
  const names = page.locator('tbody th');
  await names.first().waitFor();
  const before = await names.count();
  const line = page.locator('tbody tr', { hasText: 'rows.jsonl' }).last();
  const [download] = await Promise.all([page.waitForEvent('download'), line.getByRole('button', { name: /Download/ }).click()]);
  assert.equal(download.suggestedFilename(), 'rows.jsonl');
  await line.getByRole('button', { name: /Delete/ }).click();
  await page.locator('dialog').getByRole('button', { name: 'Delete file' }).press('Enter');
  await page.waitForFunction((count) => document.querySelectorAll('tbody th').length === count, before - 1);
  clean(page);
});

test('the views are accessible in all sizes, languages and themes', async () => {
  const { data } = await server.api('GET', 'v1/batches');
  const some = async (page) => page.locator('tbody th').first().waitFor();
  await everywhere(server, '#/batches', some);
  await everywhere(server, '#/batches?tab=files', some);
  await everywhere(server, '#/batches?tab=new');
  await everywhere(server, `#/batches/${data.at(-1).id}`, async (page) => page.locator('section pre').first().waitFor());
});

test('file names, rows, answers and diagnostics are never markup', async () => {
  const page = await visit(server, '#/batches?tab=new');
  const texts = TEXTS.filter(([, one]) => one.trim() && one.length <= 20_000 && one.isWellFormed());
  text = texts.map(([, one]) => one).join('\n');
  const begin = async (name, lines) => {
    await go(page, '#/batches');
    await go(page, '#/batches?tab=new');
    await page.getByLabel('File', { exact: true }).setInputFiles({ name, mimeType: 'application/jsonl', buffer: Buffer.from(lines) });
    await page.getByRole('button', { name: 'Create batch' }).click();
    await page.locator('.badge.good, .badge.bad').first().waitFor();
    await page.locator('section pre').or(page.locator('.problem')).first().waitFor();
    await staysText(page, name);
  };
  await begin('all.jsonl', texts.map(([, one], index) => row(`${index} ${one.slice(0, 100)}`, one.slice(0, 1000))).join('\n'));
  await begin('bad.jsonl', texts.map(([, one]) => JSON.stringify({ custom_id: one, method: one, url: one, body: { model: one } })).join('\n'));
  for (const [, one] of SHORT.filter(([, short]) => short.isWellFormed() && !/[\u0000\r\n]/.test(short))) {
    const form = new FormData();
    form.set('purpose', 'batch');
    form.set('file', new File([ROWS], one));
    // Not every text is a valid file name.
    await fetch(`${server.url}/v1/files`, { method: 'POST', body: form }).catch(() => {});
  }
  await go(page, '#/batches?tab=files');
  await page.locator('tbody th').nth(50).waitFor();
  await staysText(page, 'names of files');
});
