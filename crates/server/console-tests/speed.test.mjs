// Size and speed: bytes and time of the first screen, and memory of the server.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

import { clean, ready, serve, SPEED, visit } from './harness.mjs';

/** Files of the checkout are served uncompressed, so their transferred size has no meaning. */
const EMBEDDED = process.env.QUILLET_CONSOLE !== 'files';
const FOLDER = new URL('../console/', import.meta.url);

test('the first screen is small and loads fast', async (t) => {
  const server = await serve();
  const page = await visit(server, '#/prompts');
  const times = [];
  let bytes = 0;
  const wire = await page.context().newCDPSession(page);
  await wire.send('Network.enable');
  wire.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength));
  for (let turn = 0; turn < 5; turn += 1) {
    await wire.send('Network.clearBrowserCache');
    await page.goto('about:blank');
    bytes = 0;
    await page.goto(`${server.url}/#/prompts`, { waitUntil: 'commit' });
    await ready(page);
    await page.locator('q-list a').first().waitFor();
    times.push(
      await page.evaluate(async () => {
        // The first rows are visible, and the page responds.
        await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
        return performance.now();
      }),
    );
  }
  const median = times.toSorted((one, other) => one - other)[2];
  t.diagnostic(`the first screen: ${(bytes / 1024).toFixed(0)} KiB, usable after ${median.toFixed(0)} ms`);
  if (EMBEDDED) assert.ok(bytes > 10_000 && bytes <= 150 * 1024, `${bytes} bytes`);
  if (SPEED) assert.ok(median <= 300, `${times}`);
  clean(page);
});

test('the console uses little server memory', async (t) => {
  const files = readdirSync(FOLDER, { recursive: true }).filter((name) => /\.\w+$/.test(name));
  /** Private memory of the server in KiB, and its total with the mapped executable. */
  const memory = (server) => {
    const status = readFileSync(`/proc/${server.pid}/status`, 'utf8');
    return ['RssAnon', 'VmRSS'].map((name) => Number(status.match(new RegExp(`${name}:\\s+(\\d+)`))[1]));
  };
  /** Returns the growth of the memory in KiB after these requests. */
  async function measured(paths) {
    const server = await serve();
    const ask = async (path) => (await fetch(`${server.url}/${path}`, { headers: { 'accept-encoding': 'gzip' } })).arrayBuffer();
    for (let turn = 0; turn < 20; turn += 1) await ask('healthz');
    const before = memory(server);
    for (const path of paths) await ask(path);
    return memory(server).map((kib, index) => kib - before[index]);
  }
  const [, without] = await measured(files.map(() => 'healthz'));
  const [held, all] = await measured(files.map((name) => `console/${name}`));
  t.diagnostic(`all files of the console: the server holds ${held} KiB more, ${all} KiB with pages of its file; ${without} KiB with as many other requests`);
  if (SPEED) assert.ok(held <= 1024, `${held} KiB`);
});
