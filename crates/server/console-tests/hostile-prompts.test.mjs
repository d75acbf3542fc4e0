// Hostile texts in the list, the editor, versions, merges and the playground.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, test } from 'node:test';

import { go, serve, staysText, visit } from './harness.mjs';
import { SHORT, TEXTS } from './hostile.mjs';

// An address cannot contain lone surrogates or path segments of only dots.
const whole = (text) => text.isWellFormed() && !/^\.{1,2}$/.test(text);
const server = await serve({
  args: ['--demo', '--model', 'mock', '--config', '{folder}/quillet.toml'],
  files: { 'quillet.toml': '[server]\nbody_bytes = 16777216\n' },
});

/** Stores a prompt and ignores rejections. */
async function put(id, definition, message = '') {
  const query = new URLSearchParams({ broken: 'allow', ...(message ? { message } : {}) });
  await server.api('PUT', `api/v1/prompts/${encodeURIComponent(id)}?${query}`, definition).catch(() => null);
}

test('IDs, titles and diagnostics in the list', async () => {
  for (const [name, text] of SHORT.filter(([, one]) => whole(one))) {
    await put(text.slice(0, 100), { format: 'jinja', name: text, userPrompt: `{{ ${text}` });
    await put(`h.${name}`, { format: 'jinja', name: text, userPrompt: text });
  }
  for (const address of ['#/prompts', '#/prompts?as=list', '#/prompts?as=list&state=invalid']) {
    const page = await visit(server, address);
    const list = page.locator('q-list');
    const height = await list.evaluate((element) => element.scrollHeight);
    for (let top = 0; top < height; top += 600) {
      await list.evaluate((element, to) => (element.scrollTop = to), top);
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => resolve())));
      await staysText(page, `${address} at ${top}`);
    }
    await page.context().close();
  }
});

test('in the search and in the address', async () => {
  const page = await visit(server, '#/prompts');
  for (const [name, text] of SHORT.filter(([, one]) => whole(one))) {
    await page.getByRole('searchbox').fill(text);
    await staysText(page, name);
    await go(page, `#/prompts/${encodeURIComponent(text)}?tab=${encodeURIComponent(text)}&variables=${encodeURIComponent(text)}`);
    await staysText(page, name);
    await go(page, `#/play?prompt=${encodeURIComponent(text)}&versions=${encodeURIComponent(text)}&models=${encodeURIComponent(text)}&turns=${encodeURIComponent(JSON.stringify([text]))}`);
    await staysText(page, name);
    await go(page, '#/prompts');
  }
});

test('as prompt text, version message, description and variables', async () => {
  const page = await visit(server, '#/prompts');
  for (const [index, [name, text]] of TEXTS.entries()) {
    const id = `hostile.n${index}`;
    const about = text.slice(0, 400);
    const parameters = [{ name: about || 'x', type: 'string', description: about, default: about }];
    await put(id, { format: 'mustache', missing: 'lenient', name: about, userPrompt: 'first', description: about }, 'first');
    await put(id, { format: 'mustache', missing: 'lenient', name: about, userPrompt: text, description: about, parameters, model: about }, whole(about) ? about : '');
    await go(page, `#/prompts/${id}?variables=${encodeURIComponent(JSON.stringify({ value: about }))}`);
    await page.locator('[aria-busy="false"] > *').or(page.getByText('Prompt not found.')).first().waitFor({ state: 'attached' });
    await staysText(page, `${name} in the editor`);
    if (text.length < 100_000) {
      await go(page, `#/prompts/${id}?tab=versions`);
      await page.locator('.diff').nth(1).or(page.locator('.problem').first()).or(page.getByText('Prompt not found.')).first().waitFor({ state: 'attached' });
      await staysText(page, `${name} in its versions`);
    }
  }
});

test('entered in the editor and saved as entered', async () => {
  const page = await visit(server, '#/prompts');
  for (const [index, [name, text]] of SHORT.entries()) {
    const id = `typed.n${index}`;
    await put(id, { format: 'mustache', missing: 'lenient', userPrompt: 'x' });
    await go(page, `#/prompts/${id}`);
    await page.getByLabel('Template userPrompt').fill(text);
    await page.getByLabel('Version message').fill(text);
    await page.getByRole('button', { name: 'Save new version' }).click();
    await page.locator('[role="alert"]').or(page.locator('#notes', { hasText: 'Saved version 2.' })).first().waitFor();
    await staysText(page, name);
    const { definition, version } = await server.api('GET', `api/v1/prompts/${id}/versions/latest`);
    // Entered line breaks are saved as line feeds.
    if (version === 2) assert.equal(definition.userPrompt, text.replace(/\r\n?/g, '\n').toWellFormed(), name);
    await page.evaluate(() => (sessionStorage.clear(), document.querySelector('#notes').replaceChildren()));
    const discard = page.getByRole('button', { name: 'Discard changes' });
    if (await discard.isEnabled()) await discard.click();
  }
});

test('on both sides of a merge', async () => {
  const page = await visit(server, '#/prompts');
  for (const [index, [name, text]] of SHORT.filter(([, one]) => whole(one)).entries()) {
    const id = `merged.n${index}`;
    await put(id, { format: 'mustache', missing: 'lenient', userPrompt: 'x' });
    await go(page, `#/prompts/${id}`);
    await page.getByLabel('Template userPrompt').fill(`mine ${text}`);
    await put(id, { format: 'mustache', missing: 'lenient', userPrompt: `theirs ${text}` }, text);
    await page.getByRole('button', { name: 'Save new version' }).click();
    const both = page.getByLabel('Merged text');
    // If the server rejected the other side, this one is saved.
    const other = page.locator('[role="alert"]').or(page.locator('#notes', { hasText: 'Saved version 2.' }));
    await both.or(other).first().waitFor();
    await staysText(page, name);
    if (await both.isVisible()) {
      const merged = await both.inputValue();
      assert.ok(merged.includes('mine ') && merged.includes('theirs '), name);
      await page.getByRole('button', { name: 'Cancel merge' }).click();
    }
    const discard = page.getByRole('button', { name: 'Discard changes' });
    if (await discard.isEnabled()) await discard.click();
    await page.evaluate(() => document.querySelector('#notes').replaceChildren());
  }
});

test('as model answers, reasoning, tool calls and errors', async () => {
  let text = '';
  const fake = createServer((request, response) => {
    request.resume();
    if (request.method === 'GET') return response.end(JSON.stringify({ object: 'list', data: [] }));
    if (text === 'fail') {
      response.statusCode = 400;
      return response.end(JSON.stringify({ error: { message: SHORT.map(([, one]) => one).join(' '), type: 'invalid_request_error' } }));
    }
    response.setHeader('content-type', 'text/event-stream');
    const chunk = (delta, finish = null) => response.write(`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);
    chunk({ role: 'assistant', reasoning_content: text });
    chunk({ content: text });
    chunk({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: text.slice(0, 60) || 'f', arguments: JSON.stringify({ text }) } }] });
    chunk({}, 'tool_calls');
    response.end('data: [DONE]\n\n');
  });
  await new Promise((resolve) => fake.listen(0, '127.0.0.1', resolve));
  after(() => (fake.closeAllConnections(), fake.close()));
  const own = await serve({ args: ['--demo', '--model', 'm'], env: { OPENAI_BASE_URL: `http://127.0.0.1:${fake.address().port}/v1`, OPENAI_API_KEY: 'none' } });
  const page = await visit(own, '#/play?prompt=hello');
  for (const [name, one] of [...TEXTS, ['all of them as an error', 'fail']]) {
    text = one.toWellFormed();
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.locator('.turn.assistant:not([aria-busy])').waitFor();
    await staysText(page, name);
  }
});
