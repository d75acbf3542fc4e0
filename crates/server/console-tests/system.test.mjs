// The system page: components, metrics and permissions.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { accessible, clean, everywhere, reach, serve, staysText, visit } from './harness.mjs';
import { SHORT } from './hostile.mjs';

const server = await serve();

const folder = mkdtempSync(join(tmpdir(), 'quillet-tokens-'));
after(() => rmSync(folder, { recursive: true, force: true }));
writeFileSync(
  join(folder, 'quillet.toml'),
  ['[server.token.chief]', 'secret = "chief-secret-1"', 'rights = ["admin"]', '[server.token.reader]', 'secret = "reader-secret-2"', 'rights = ["read hello*"]', ''].join('\n'),
);
const guarded = await serve({ args: ['--demo', '--model', 'mock', '--config', join(folder, 'quillet.toml')] });

test('store, model, limits and numbers are shown', async () => {
  await server.api('POST', 'api/v1/render/prompts/hello', { variables: { name: 'Ada' } });
  const page = await visit(server, '#/system');
  await page.getByText('demo in memory').first().waitFor();
  const shown = await page.locator('main').innerText();
  for (const part of [/Version/, /valid/, /Anyone who can reach this server/, /Mean render/, /body_bytes/]) assert.match(shown, part);
  await page.locator('summary', { hasText: 'Requests by route' }).click();
  await page.getByText('POST /api/v1/render/prompts/{id}').waitFor();
  await page.getByText('All metrics').press('Enter');
  await page.getByText(/quillet_http_requests_total/).first().waitFor();
  await page.getByRole('button', { name: 'Reload' }).press('Enter');
  await page.locator('summary', { hasText: 'Requests by route' }).waitFor();
  await accessible(page);
});

test('deprecated models are listed with the prompt and the fix', async () => {
  const known = (await server.api('GET', 'v1/system')).models_ending;
  assert.deepEqual(known, []);
  await server.api('PUT', 'api/v1/prompts/old', { userPrompt: 'Hello', model: 'gpt-3.5-turbo' });
  await server.api('GET', 'api/v1/prompts/old?min_revision=latest');
  const page = await visit(server, '#/system');
  const [ending] = (await server.api('GET', 'v1/system')).models_ending;
  assert.equal(ending?.prompt, 'old');
  await page.getByText(ending.help).waitFor();
  await page.getByRole('link', { name: 'old', exact: true }).waitFor();
  clean(page);
});

test('tokens are shown by name and permissions, never by value', async () => {
  const page = await visit(guarded, '#/system', { token: 'chief-secret-1' });
  await page.getByRole('cell', { name: 'reader' }).waitFor();
  await page.getByText('read hello*').waitFor();
  assert.doesNotMatch(await page.content(), /secret-[12]/);
  await accessible(page);
});

test('a missing permission is named', async () => {
  const page = await visit(guarded, '#/system', { token: 'reader-secret-2' });
  await page.getByText('This token lacks a permission that this section needs:').first().waitFor();
  await page.getByRole('alert').getByText(/admin/).first().waitFor();
  await accessible(page);
});

test('budgets show amounts spent and reserved, limits and the time of reset', async () => {
  const page = await visit(server, '#/system');
  await page.getByText('No daily budgets.').waitFor();
  await page.context().close();
  const limited = await serve({ env: { QUILLET_BUDGET_DAY_USD: '2', QUILLET_BUDGET_DAY_TOKENS: '10000' } });
  await limited.api('POST', 'v1/chat/completions', { model: 'mock', messages: [{ role: 'user', content: 'Hello' }] });
  const { data, day } = await limited.api('GET', 'v1/budgets');
  assert.ok(data[0].spent.tokens > 0, JSON.stringify(data));
  const seen = await visit(limited, '#/system');
  const row = seen.getByRole('row', { name: /everyone/ });
  await row.waitFor();
  const cells = (await row.getByRole('cell').allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim());
  assert.equal(cells[1], `$0.0000 ${data[0].spent.tokens} tokens`);
  assert.equal(cells[2], '$0.0000 0 tokens');
  assert.equal(cells[3], '$2.0000 10,000 tokens');
  assert.match(cells[4], new RegExp(`0 % ${Math.round(data[0].spent.tokens / 100)} %`));
  await seen.getByText(new RegExp(`Daily budgets for ${day} \\(UTC\\)\\. They reset in \\d+`)).waitFor();
  await seen.getByRole('progressbar', { name: /% of tokens/ }).waitFor();
  // Reach the table and reload the view by keyboard.
  await limited.api('POST', 'v1/chat/completions', { model: 'mock', messages: [{ role: 'user', content: 'Hello again' }] });
  await reach(seen, seen.getByRole('button', { name: 'Reload' }));
  await seen.keyboard.press('Enter');
  await seen.getByRole('cell', { name: `${(await limited.api('GET', 'v1/budgets')).data[0].spent.tokens} tokens` }).waitFor();
  await reach(seen, seen.getByRole('region', { name: /Daily budgets/ }));
  await everywhere(limited, '#/system');
});

test('the view is accessible in all sizes, languages and themes', async () => {
  await everywhere(server, '#/system');
});

test('metric labels are never markup', async () => {
  for (const [, text] of SHORT.filter(([, one]) => one.isWellFormed())) await server.api('POST', `api/v1/render/prompts/${encodeURIComponent(text)}`, {}).catch(() => {});
  const page = await visit(server, '#/system');
  await page.evaluate(() => document.querySelectorAll('main details').forEach((one) => (one.open = true)));
  await staysText(page);
});
