// The OpenAPI page: search, schemas and requests.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { accessible, clean, everywhere, go, reach, serve, staysText, visit } from './harness.mjs';
import { TEXTS } from './hostile.mjs';

const server = await serve();
const route = (page, name) => page.locator('details.card').filter({ has: page.locator('summary', { hasText: name }) });

test('every route of the document is listed under its tag', async () => {
  const page = await visit(server, '#/docs?aliases=1');
  const api = await server.api('GET', 'openapi.json');
  const all = Object.values(api.paths).flatMap((item) => Object.keys(item)).length;
  assert.equal(await page.locator('details.card').count(), all);
  const tags = new Set(Object.values(api.paths).flatMap((item) => Object.values(item).map((one) => one.tags[0])));
  assert.equal(await page.locator('main h2').count(), tags.size);
  clean(page);
});

test('a route is found, its example sent, and the response shown with status, headers and body', async () => {
  const page = await visit(server, '#/docs');
  await page.getByLabel('Search').fill('render post template body');
  const one = route(page, 'POST /api/render Renders');
  await one.locator('summary').first().click();
  assert.match(await one.getByLabel('Request body', { exact: true }).inputValue(), /"name": "Ada"/);
  await one.getByRole('button', { name: 'Send' }).click();
  await one.getByText('200 OK').waitFor();
  await one.getByText('"rendered_prompt": "Hello Ada"').waitFor();
  await one.getByText('Response headers').click();
  await one.getByText(/content-type: application\/json/).waitFor();
  await one.getByText('Responses').last().click();
  await one.getByText('application/problem+json').first().waitFor();
  await accessible(page, 'a route that was sent');
});

test('an error response is shown unchanged', async () => {
  const page = await visit(server, '#/docs?route=get+/api/prompts/{id}');
  const one = page.locator('details.card[open]');
  await one.locator('input').first().fill('no such');
  await one.getByRole('button', { name: 'Send' }).click();
  await one.getByText('404 Not Found').waitFor();
  await one.getByText('does not exist').first().waitFor();
  clean(page);
});

test('a stream is shown as it arrives, by keyboard', async () => {
  const page = await visit(server, '#/docs?q=post+/v1/response+runs+an+agent');
  await reach(page, page.locator('details.card summary').first());
  await page.keyboard.press('Enter');
  const one = page.locator('details.card').first();
  await reach(page, one.getByLabel('Request body', { exact: true }));
  await reach(page, one.getByRole('button', { name: 'Send' }));
  await page.keyboard.press('Enter');
  await one.getByText('event: response.done').waitFor();
  assert.match(await one.locator('.answer-body').textContent(), /event: response\.start[\s\S]*event: content\.delta/);
  clean(page);
});

test('a file is sent as a multipart form', async () => {
  const page = await visit(server, '#/docs?route=post+/v1/files');
  const one = page.locator('details.card[open]');
  await one.locator('input[type="file"]').setInputFiles({ name: 'rows.jsonl', mimeType: 'application/jsonl', buffer: Buffer.from('{"custom_id":"a","method":"POST","url":"/v1/responses","body":{}}') });
  await one.getByRole('button', { name: 'Send' }).click();
  await one.getByText('200 OK').waitFor();
  await one.getByText('"purpose": "batch"').waitFor();
  clean(page);
});

test('schemas are described in words', async () => {
  const page = await visit(server, '#/docs?route=post+/v1/response/{id}/decide');
  const one = page.locator('details.card[open]');
  await one.getByText('The result that the model reads if the call is not made.').waitFor();
  await one.getByText('required').first().waitFor();
  clean(page);
});

test('all routes can be opened', async () => {
  const page = await visit(server, '#/docs?aliases=1');
  await page.evaluate(() => document.querySelectorAll('main details').forEach((one) => (one.open = true)));
  await page.waitForFunction(() => document.querySelectorAll('form').length > 100);
  clean(page);
});

test('the view is accessible in all sizes, languages and themes', async () => {
  await everywhere(server, '#/docs?q=batches');
  await everywhere(server, '#/docs?q=/decide&route=post+/v1/response/{id}/decide', async (page, language) => {
    const one = page.locator('details.card[open]');
    await one.locator('input').first().fill('x');
    await one.getByRole('button', { name: language === 'zh' ? '发送' : 'Send' }).click();
    await one.locator('.answer-body').waitFor();
  });
});

test('routes work behind a prefix', async () => {
  const behind = await serve({ env: { QUILLET_PREFIX: '/deep/below' } });
  for (const [key, part] of [['get /deep/below/api/prompts', '"hello"'], ['get /readyz', '"ready"']]) {
    const page = await visit(behind, `#/docs?route=${encodeURIComponent(key)}`, { prefix: '/deep/below' });
    const one = page.locator('details.card[open]');
    await one.getByRole('button', { name: 'Send' }).click();
    await one.getByText('200 OK').waitFor();
    await one.getByText(part).first().waitFor();
    await go(page, '#/system');
    await page.getByText('Metrics since startup').waitFor();
    clean(page);
  }
});

test('responses are never markup', async () => {
  const page = await visit(server, '#/docs?route=post+/api/render');
  const one = page.locator('details.card[open]');
  for (const [name, text] of TEXTS) {
    await one.getByLabel('Request body', { exact: true }).fill(JSON.stringify({ template: '{{.variables.name}}', variables: { name: text } }));
    await one.getByRole('button', { name: 'Send' }).click();
    await one.getByText(/^(200 OK|4\d\d )/).waitFor();
    await one.getByRole('button', { name: 'Send', disabled: false }).waitFor();
    await staysText(page, name);
  }
  await go(page, `#/docs?q=${encodeURIComponent('<img src=x onerror=hostile=1>')}`);
  await staysText(page, 'a search');
});
