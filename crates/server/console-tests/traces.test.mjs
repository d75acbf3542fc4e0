// Traces: search, spans, and opening in the playground.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';

import { SPEED, accessible, clean, everywhere, go, longTasks, reach, ready, serve, staysText, visit } from './harness.mjs';
import { SHORT, TEXTS } from './hostile.mjs';
import { provider } from './provider.mjs';

const models = await provider((messages) => {
  const last = messages.at(-1);
  if (last.role === 'tool') return { text: `The tool said: ${last.content}` };
  if (String(last.content).includes('greet')) return { text: 'I greet.', calls: [{ name: 'prompt_greet', arguments: { name: 'Ada' } }] };
  return { text: 'An answer.' };
});
after(() => models.stop());
const server = await serve({
  args: ['--store', 'sqlite:store.db', '--model', 'test-model'],
  env: { OPENAI_BASE_URL: models.url, OPENAI_API_KEY: 'k', QUILLET_TRACE_TEXTS: 'true' },
});
await server.api('PUT', 'api/v1/prompts/greet', { userPrompt: 'Hello {{.variables.name}}' });
await server.api('PUT', 'api/v1/agents/clerk', { model: 'test-model', instructions: 'Be kind.', tools: ['prompt/*'] });
await server.api('GET', 'api/v1/agents/clerk?min_revision=latest');

/** Sends spans as OpenTelemetry's exporters do: `[{ id, parent, name, from, ms, attributes, failed }]`. */
async function send(trace, spans) {
  const start = Date.now();
  const made = spans.map((span) => ({
    traceId: trace,
    spanId: span.id,
    parentSpanId: span.parent ?? '',
    name: span.name,
    startTimeUnixNano: `${start + span.from}000000`,
    endTimeUnixNano: `${start + span.from + span.ms}000000`,
    attributes: Object.entries(span.attributes ?? {}).map(([key, value]) => ({ key, value: { stringValue: typeof value === 'string' ? value : JSON.stringify(value) } })),
    status: span.failed ? { code: 2, message: span.failed } : {},
  }));
  await server.api('POST', 'api/public/otel/v1/traces', { resourceSpans: [{ scopeSpans: [{ spans: made }] }] });
}

const hex = (number, digits) => number.toString(16).padStart(digits, '0');

async function run(text) {
  await server.api('POST', 'v1/response', { model_config: { model_id: 'agent/clerk', model: 'agent/clerk' }, input: { text }, features: { streaming: false } });
}

test('a run is found and inspected by span, by mouse', async () => {
  await run('please greet Ada');
  const page = await visit(server, '#/traces');
  await page.locator('q-list a', { hasText: 'clerk' }).first().click();
  await ready(page);
  const rows = page.locator('q-list a');
  assert.deepEqual(await page.locator('q-list .badge').allTextContents(), ['run', 'model', 'tool', 'model']);
  await rows.nth(1).click();
  const span = page.getByRole('region', { name: 'Span' });
  await span.getByText('Be kind.').waitFor();
  await span.getByText('please greet Ada').waitFor();
  await span.getByText('Tools offered').waitFor();
  await span.getByText('prompt_greet').first().waitFor();
  assert.match(page.url(), /span=/);
  await rows.nth(2).click();
  await span.getByText('"name": "Ada"').waitFor();
  await span.getByText('Hello Ada').waitFor();
  const again = await visit(server, new URL(page.url()).hash);
  await again.getByRole('region', { name: 'Span' }).getByText('Hello Ada').waitFor();
  await accessible(page, 'a trace');
});

test('spans are navigated by keyboard', async () => {
  await run('please greet Ada');
  const page = await visit(server, '#/traces');
  await reach(page, page.locator('q-list a').first());
  await page.keyboard.press('Enter');
  await page.locator('q-list.spans').waitFor();
  await reach(page, page.locator('q-list.spans a').first());
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.getByRole('region', { name: 'Span' }).getByText('Arguments').waitFor();
  clean(page);
});

test('a chat of a prompt opens in the playground with its version, variables and model', async () => {
  await server.api('POST', 'api/v1/chat/prompts/greet%401', { variables: { name: 'Grace' } });
  const page = await visit(server, '#/traces');
  await page.locator('q-list a').first().click();
  const link = page.getByRole('link', { name: 'Open in playground' });
  await link.waitFor();
  const given = new URLSearchParams((await link.getAttribute('href')).split('?')[1]);
  assert.equal(given.get('prompt'), 'greet');
  assert.equal(given.get('version'), '1');
  assert.equal(JSON.parse(given.get('variables')).name, 'Grace');
  assert.equal(given.get('model'), 'test-model');
  clean(page);
});

test('filters work and are stored in the address', async () => {
  await send(hex(1, 32), [{ id: hex(1, 16), name: 'a needle', from: 0, ms: 5 }]);
  await send(hex(2, 32), [{ id: hex(2, 16), name: 'a failure', from: 0, ms: 5, failed: 'it broke' }]);
  const page = await visit(server, '#/traces');
  const rows = page.locator('q-list a');
  await page.getByLabel('Search').fill('needle');
  await page.waitForFunction(() => document.querySelectorAll('q-list a').length === 1);
  await page.getByLabel('Search').fill('');
  await page.getByLabel('Failed only').check();
  await rows.filter({ hasText: 'a failure' }).waitFor();
  await page.waitForFunction(() => document.querySelectorAll('q-list a').length === 1);
  await page.getByLabel('Period').selectOption('3600000');
  await rows.filter({ hasText: 'a failure' }).waitFor();
  assert.match(page.url(), /failed=true/);
  assert.match(page.url(), /since=3600000/);
  const again = await visit(server, new URL(page.url()).hash);
  await again.locator('q-list a', { hasText: 'a failure' }).waitFor();
  assert.equal(await again.locator('q-list a').count(), 1);
  await again.locator('q-list a').first().click();
  await again.getByText('it broke').first().waitFor();
  await accessible(again, 'a trace that failed');
});

test('a trace of 1,000 spans opens fast and renders only visible rows', async () => {
  const spans = Array.from({ length: 1_000 }, (_, index) => ({
    id: hex(0x10000 + index, 16),
    parent: index === 0 ? undefined : hex(0x10000 + Math.floor((index - 1) / 4), 16),
    name: `span ${index}`,
    from: index,
    ms: 1_000 - index,
    attributes: { 'gen_ai.input.messages': [{ role: 'user', parts: [{ type: 'text', content: `message ${index}` }] }] },
  }));
  await send(hex(0xabc, 32), spans);
  const page = await visit(server, '#/traces?text=span%200');
  const row = page.locator('q-list a', { hasText: 'span 0' });
  await row.waitFor();
  // Open the view once, so its file is cached.
  await go(page, `#/traces/${hex(0xabc, 32)}`);
  await go(page, '#/traces?text=span%200');
  const took = await page.evaluate(
    (hash) =>
      new Promise((resolve) => {
        const began = performance.now();
        const seen = new MutationObserver(() => {
          if (!document.querySelector('q-list.spans a')) return;
          seen.disconnect();
          requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - began)));
        });
        seen.observe(document.querySelector('main'), { childList: true, subtree: true });
        location.hash = hash;
      }),
    `#/traces/${hex(0xabc, 32)}`,
  );
  console.log(`a trace of 1,000 spans opened in ${took.toFixed(0)} ms`);
  if (SPEED) assert.ok(took <= 200, `${took} ms`);
  assert.ok((await page.locator('q-list.spans a').count()) < 100);
  await reach(page, page.locator('q-list.spans a').first());
  await page.keyboard.press('End');
  await page.locator('q-list.spans a[data-index="999"]').waitFor();
  await page.getByLabel('Search spans').fill('span 77');
  await page.waitForFunction(() => document.querySelectorAll('q-list.spans a').length === 11);
  clean(page);
});

/** Sends ten groups of four spans under one root. */
async function grouped(trace) {
  const spans = [{ id: hex(0x30000, 16), name: 'root', from: 0, ms: 500 }];
  for (let group = 0; group < 10; group += 1) {
    const id = hex(0x30100 + group * 16, 16);
    spans.push({ id, parent: hex(0x30000, 16), name: `group ${group}`, from: group * 10, ms: 9 });
    for (let one = 1; one < 5; one += 1) spans.push({ id: hex(0x30100 + group * 16 + one, 16), parent: id, name: `leaf ${group}.${one}`, from: group * 10 + one, ms: 1 });
  }
  await send(trace, spans);
}

const rowOf = (page, name) => page.locator('q-list.spans a', { has: page.locator('bdi', { hasText: new RegExp(`^${name}$`) }) });

test('a subtree is collapsed and expanded by mouse, and the address stores it', async () => {
  await grouped(hex(0xf01d, 32));
  const page = await visit(server, `#/traces/${hex(0xf01d, 32)}`);
  await rowOf(page, 'leaf 0.1').waitFor();
  await rowOf(page, 'group 0').locator('.fold').click();
  await rowOf(page, 'leaf 0.1').waitFor({ state: 'detached' });
  assert.equal(await rowOf(page, 'group 0').getAttribute('aria-expanded'), 'false');
  await rowOf(page, 'group 0').getByText('4 hidden').waitFor();
  // A click next to the arrow selects the span and collapses nothing.
  await rowOf(page, 'group 1').click({ position: { x: 120, y: 20 } });
  await page.getByRole('region', { name: 'Span' }).getByRole('heading', { name: 'group 1' }).waitFor();
  assert.equal(await rowOf(page, 'leaf 1.1').count(), 1);
  assert.match(page.url(), /folded=/);
  await page.reload();
  await ready(page);
  await rowOf(page, 'group 0').getByText('4 hidden').waitFor();
  assert.equal(await rowOf(page, 'leaf 0.1').count(), 0);
  await accessible(page, 'a folded trace');
  await page.getByRole('button', { name: 'Collapse all', exact: true }).click();
  await page.waitForFunction(() => document.querySelectorAll('q-list.spans a').length === 11);
  await page.getByRole('button', { name: 'Expand all' }).click();
  await rowOf(page, 'leaf 0.1').waitFor();
  // Search finds spans in collapsed subtrees.
  await page.getByRole('button', { name: 'Collapse all', exact: true }).click();
  await page.getByLabel('Search spans').fill('leaf 3.');
  await page.waitForFunction(() => document.querySelectorAll('q-list.spans a').length === 4);
  clean(page);
});

test('spans are a tree for the keyboard: Left, Right, Home and End', async () => {
  await grouped(hex(0xf01e, 32));
  const page = await visit(server, `#/traces/${hex(0xf01e, 32)}`);
  const focused = () => page.evaluate(() => document.activeElement.querySelector('bdi')?.textContent);
  assert.equal(await page.locator('q-list.spans').getAttribute('role'), 'tree');
  await reach(page, page.locator('q-list.spans a[tabindex="0"]'));
  assert.equal(await focused(), 'root');
  const keys = async (...pressed) => {
    for (const key of pressed) await page.keyboard.press(key);
    return focused();
  };
  assert.equal(await keys('ArrowRight'), 'group 0');
  assert.equal(await keys('ArrowRight'), 'leaf 0.1');
  assert.equal(await keys('ArrowLeft'), 'group 0');
  assert.equal(await keys('ArrowLeft'), 'group 0');
  assert.equal(await rowOf(page, 'group 0').getAttribute('aria-expanded'), 'false');
  assert.equal(await keys('ArrowDown'), 'group 1');
  assert.equal(await keys('End'), 'leaf 9.4');
  assert.equal(await keys('Home'), 'root');
  assert.equal(await keys('ArrowLeft'), 'root');
  assert.equal(await page.locator('q-list.spans a').count(), 1);
  assert.equal(await keys('ArrowRight', 'ArrowDown', 'ArrowRight', 'ArrowDown', 'Enter'), 'leaf 0.1');
  await page.getByRole('region', { name: 'Span' }).getByRole('heading', { name: 'leaf 0.1' }).waitFor();
  clean(page);
});

test('a list of 100,000 scrolls without long tasks', async () => {
  const page = await visit(server, '#/runs');
  // Mock the route. The tests of the store cover large numbers of traces.
  await page.route('**/v1/traces?*', (route) => {
    const query = new URL(route.request().url()).searchParams;
    const before = Number(query.get('before') ?? 100_001);
    const count = Math.min(Number(query.get('limit')), before - 1);
    const traces = Array.from({ length: count }, (_, index) => ({ number: before - 1 - index, id: hex(before - 1 - index, 32), started_us: 1.79e15 + before - index, duration_us: 12_000 + index, name: `trace ${before - 1 - index}`, model: 'a-model', input_tokens: 10, output_tokens: 5, spans: 3 }));
    return route.fulfill({ json: { traces, ...(count ? { next: before - count } : {}) } });
  });
  await go(page, '#/traces');
  const tasks = await longTasks(page, async () => {
    for (let turn = 0; turn < 100; turn += 1) {
      await page.evaluate(() => (document.querySelector('q-list').scrollTop += 4_000));
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))));
    }
    // Scroll to the end page by page, and back to the middle.
    await page.evaluate(async () => {
      const list = document.querySelector('q-list');
      for (let turn = 0; turn < 3_000 && list.size < 100_000; turn += 1) {
        list.scrollTop = list.scrollHeight;
        await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      }
      list.scrollTop = list.scrollHeight / 2;
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    });
  });
  const loaded = await page.evaluate(() => document.querySelector('q-list').size);
  assert.equal(loaded, 100_000);
  assert.ok((await page.locator('q-list a').count()) < 100);
  console.log(`${loaded} rows, tasks over 50 ms: ${tasks.map((ms) => ms.toFixed(0)).join(', ') || 'none'}`);
  if (SPEED) assert.deepEqual(tasks, []);
  clean(page);
});

test('the views are accessible in all sizes, languages and themes', async () => {
  await everywhere(server, '#/traces');
  await everywhere(server, `#/traces/${hex(0xabc, 32)}`);
  await everywhere(server, `#/traces/${hex(2, 32)}`);
});

test('names, messages, attributes, errors and results are never markup', async () => {
  const texts = TEXTS.filter(([, text]) => text.trim() && text.isWellFormed());
  const spans = texts.map(([, whole], index) => [whole, whole.slice(0, 5_000), index]).map(([whole, text, index]) => ({
    id: hex(0x20000 + index, 16),
    parent: index ? hex(0x20000, 16) : undefined,
    name: text.slice(0, 300) || 'x',
    from: index,
    ms: 5,
    failed: index ? text : undefined,
    attributes: {
      'gen_ai.prompt.name': text.slice(0, 200),
      'gen_ai.request.model': text.slice(0, 200),
      'quillet.prompt.variables': { [text.slice(0, 50)]: text },
      'gen_ai.input.messages': [{ role: text.slice(0, 50), parts: [{ type: 'text', content: text }, { type: 'tool_call', name: text, arguments: { [text.slice(0, 50)]: text } }, { type: text, x: text }] }],
      'gen_ai.output.messages': text,
      'gen_ai.tool.definitions': [{ type: 'function', name: text, description: text, parameters: { properties: { [text.slice(0, 50)]: {} } } }],
      'gen_ai.tool.call.arguments': text,
      'gen_ai.tool.call.result': whole.slice(0, 250_000),
      [text.slice(0, 50) || 'x']: text,
    },
  }));
  // Request bodies are limited in size.
  for (const part of spans.map((span) => [span])) await send(hex(0xdef, 32), part);
  const page = await visit(server, '#/traces');
  await staysText(page, 'the list');
  await go(page, `#/traces/${hex(0xdef, 32)}`);
  for (const [index, [name]] of texts.entries()) {
    const hash = `#/traces/${hex(0xdef, 32)}?span=${hex(0x20000 + index, 16)}`;
    await go(page, hash);
    await page.evaluate(() => document.querySelectorAll('main details').forEach((one) => (one.open = true)));
    await staysText(page, name);
  }
  for (const [name, text] of SHORT) {
    await go(page, `#/traces?text=${encodeURIComponent(text.isWellFormed() ? text : 'x')}`);
    await staysText(page, `${name} as a search`);
  }
});
