// All views behind a prefix, behind a proxy, at 200 % zoom and in a narrow window.

import assert from 'node:assert/strict';
import { createServer, request } from 'node:http';
import { after, test } from 'node:test';

import { accessible, clean, go, LANGUAGES, reach, ready, serve, uncovered, visit } from './harness.mjs';

const VIEWS = [
  '#/prompts',
  '#/prompts?new=1',
  '#/prompts/hello',
  '#/prompts/hello?tab=versions',
  '#/play?prompt=hello',
  '#/traces',
  '#/agents',
  '#/agents/inbox',
  '#/agents/chat/clerk',
  '#/runs',
  '#/databases',
  '#/scripts',
  '#/scripts/shout',
  '#/batches',
  '#/system',
  '#/docs',
];

/** Starts a proxy that maps paths below `from` to paths below `to`. */
async function proxy(server, from, to) {
  const between = createServer((asked, answered) => {
    if (!asked.url.startsWith(`${from}/`)) return answered.writeHead(404).end();
    const { port } = new URL(server.url);
    const path = to + asked.url.slice(from.length);
    const { method, headers } = asked;
    const passed = request({ host: '127.0.0.1', port, path, method, headers }, (answer) => {
      answered.writeHead(answer.statusCode, answer.headers);
      answer.pipe(answered);
    });
    passed.on('error', () => answered.destroy());
    asked.pipe(passed);
  });
  await new Promise((resolve) => between.listen(0, '127.0.0.1', resolve));
  after(() => (between.closeAllConnections(), between.close()));
  return { url: `http://127.0.0.1:${between.address().port}` };
}

/** Starts a server with data for all views. */
async function filled(prefix = '') {
  const server = await serve({ env: prefix ? { QUILLET_PREFIX: prefix } : {} });
  const base = prefix.slice(1) + (prefix ? '/' : '');
  await server.api('PUT', `${base}api/v1/agents/clerk`, { model: 'mock', instructions: 'Be kind.', description: 'Writes letters' });
  await server.api('PUT', `${base}api/v1/prompts/shout`, { format: 'script', source: '---\ninput:\n  - word: {type: string, index: 0}\n---\n- $ret: "?=word + word"\n' });
  await server.api('POST', `${base}v1/response`, { model_config: { model_id: 'agent/clerk', model: 'agent/clerk' }, input: { text: 'Hello' }, features: { streaming: false } });
  return server;
}

const below = await filled('/tools/quillet');
const bare = await filled();

/** Uses each view, by mouse or keyboard. `probes`: whether the probes are reachable. */
async function works(page, probes) {
  await go(page, '#/prompts');
  await page.getByLabel('Search IDs, titles and text').fill('hello');
  await page.locator('q-list a[href$="/hello"], q-list a[href*="prompts/hello"]').first().click();
  await ready(page);
  await page.locator('q-code .k-delimiter').first().waitFor();
  await go(page, '#/play?prompt=hello&variables=%7B%22name%22%3A%22Ada%22%7D');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.getByText(/first token after .* tokens in/).waitFor();
  await go(page, '#/agents/chat/clerk');
  await page.locator('form textarea').fill('Hello');
  await page.locator('form textarea').press('Enter');
  await page.locator('[role="log"][aria-busy="false"]').getByText(/built-in mock model/).first().waitFor();
  await go(page, '#/scripts/shout?variables=%7B%22word%22%3A%22hey%22%7D');
  await reach(page, page.getByRole('button', { name: 'Run', exact: true }));
  await page.keyboard.press('Enter');
  await page.getByText('heyhey').first().waitFor();
  await go(page, '#/traces');
  await reach(page, page.locator('q-list a').first());
  await page.keyboard.press('Enter');
  await page.locator('q-list.spans a').first().waitFor();
  await go(page, '#/system');
  await page.getByText('Limits for requests and runs').waitFor();
  // Probes are at the server's root, which not every proxy forwards.
  if (probes) assert.equal(await page.getByRole('alert').count(), 0);
}

for (const [name, make, prefix] of [
  ['below its own prefix', async () => below, '/tools/quillet'],
  ['below its prefix behind a proxy that keeps it', () => proxy(below, '/tools/quillet', '/tools/quillet'), '/tools/quillet'],
  ['behind a proxy that takes a prefix away', () => proxy(bare, '/inner/console', ''), '/inner/console'],
  ['behind a proxy with another prefix than the server has', () => proxy(below, '/outer', '/tools/quillet'), '/outer'],
]) {
  test(`all views load and work ${name}`, async () => {
    const server = await make();
    const page = await visit(server, '', { prefix });
    const outside = [];
    page.on('response', (response) => {
      const { pathname } = new URL(response.url());
      // Probes and counters stay at the root, which a proxy may not forward.
      if (!pathname.startsWith(`${prefix}/`) && !/^\/(readyz|metrics)$/.test(pathname)) outside.push(pathname);
      // Prompts of an extension have no versions.
      if (response.status() === 404 && !/\/(readyz|metrics)$|\/evaluator\./.test(pathname)) outside.push(`404 ${pathname}`);
    });
    for (const view of VIEWS) {
      await go(page, view);
      assert.equal(await page.getByText('Something went wrong').count(), 0, view);
    }
    await works(page, server === below);
    assert.deepEqual(outside, []);
    // The page with the routes has its own URL.
    await page.goto(`${server.url}${prefix}/docs`);
    await ready(page);
    await page.getByRole('heading', { name: 'Docs' }).or(page.locator('h1')).first().waitFor();
    // Routes at the root are not found through this proxy, and Chromium logs the error.
    page.troubles = page.troubles.filter((trouble) => server === below || !/404/.test(trouble));
    clean(page);
  });
}

test('the prefix without a slash redirects to the page', async () => {
  const answer = await fetch(`${below.url}/tools/quillet`, { redirect: 'manual' });
  assert.equal(answer.status, 308);
  assert.equal(answer.headers.get('location'), '/tools/quillet/');
  const page = await visit(below, '', { prefix: '/tools/quillet', first: true });
  await page.goto(`${below.url}/tools/quillet#/system`);
  await ready(page);
  assert.equal(new URL(page.url()).pathname, '/tools/quillet/');
  assert.equal(new URL(page.url()).hash, '#/system');
  clean(page);
});

for (const [name, size] of [
  ['at 200 %', { width: 720, height: 450, scale: 2 }],
  ['in a window 360 px wide', { width: 360, height: 740 }],
]) {
  test(`nothing is cut off or covered ${name}`, async () => {
    const [trace] = (await bare.api('GET', 'v1/traces?limit=1')).traces;
    for (const language of LANGUAGES) {
      const page = await visit(bare, '#/prompts', { ...size, language });
      for (const view of [...VIEWS, `#/traces/${trace.id}`]) {
        await go(page, view);
        await accessible(page, `${view} ${name}, ${language}`);
        await uncovered(page, `${view} ${name}, ${language}`);
      }
      await page.context().close();
    }
  });
}
