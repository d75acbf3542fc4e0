// Starts the program, opens its console in Chromium and collects errors.
//
// QUILLET_BIN sets the program (default: target/debug/quillet), and CHROMIUM the browser (default:
// /usr/bin/chromium). QUILLET_CONSOLE=files serves the console's files from the checkout instead of from
// the program, so changes need no build. QUILLET_CONSOLE_SPEED=1 enforces the limits on measurements.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const FILES = fileURLToPath(new URL('../console/', import.meta.url));
/** Program under test. */
export const PROGRAM = process.env.QUILLET_BIN ?? join(ROOT, 'target/debug/quillet');
const MODULES = createRequire(process.env.QUILLET_CONSOLE_MODULES ?? join(ROOT, 'target/console/'));
const { chromium } = MODULES('playwright-core');
const AXE = readFileSync(MODULES.resolve('axe-core/axe.min.js'), 'utf8');

/** Window widths, languages and themes for the tests of every view. */
export const WIDTHS = [360, 1440];
export const LANGUAGES = ['en', 'zh'];
export const THEMES = ['light', 'dark'];

/** Whether measurements must stay within their limits. Otherwise they are only reported. */
export const SPEED = process.env.QUILLET_CONSOLE_SPEED === '1';

const MEDIA = { css: 'text/css', html: 'text/html', js: 'text/javascript', svg: 'image/svg+xml' };

/**
 * Starts `quillet serve` on a free port and waits until it answers. It has the demo definitions in
 * memory, unless `args` sets another store (`--store dir:{folder}/store`). `files` maps paths in the
 * folder to texts, which are written first. The server stops after the tests of the file.
 *
 * Returns `url`, `stop()`, `start()` (restarts on the same port) and `api(method, path, body, headers)`,
 * which returns the parsed response or throws on an error response.
 */
export async function serve({ args = ['--demo', '--model', 'mock'], env = {}, files = {} } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'quillet-console-'));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  const inherited = Object.entries(process.env).filter(([name]) => !/^(QUILLET|OTEL|OPENAI|ANTHROPIC)_/.test(name));
  let child;
  let port = 0;

  async function start() {
    child = spawn(PROGRAM, ['serve', '--listen', `127.0.0.1:${port}`, ...args.map((one) => one.replace('{folder}', folder))], {
      cwd: folder,
      env: { ...Object.fromEntries(inherited), HOME: folder, XDG_DATA_HOME: folder, QUILLET_TRACES: join(folder, 'traces.db'), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const said = [];
    child.ended = new Promise((resolve) => child.on('exit', resolve));
    child.on('error', () => {});
    port = await new Promise((resolve, reject) => {
      child.ended.then(() => reject(new Error(`${PROGRAM} ended: ${said.join('\n')}`)));
      for (const stream of [child.stdout, child.stderr]) {
        createInterface({ input: stream }).on('line', (line) => {
          said.push(line);
          const found = line.match(/ at http:\/\/[^/]*:(\d+)/);
          if (found) resolve(Number(found[1]));
        });
      }
    });
  }

  async function stop() {
    child.kill('SIGKILL');
    await child.ended;
    child.stdout.destroy();
    child.stderr.destroy();
  }

  await start();
  after(async () => {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    folder,
    start,
    stop,
    get pid() {
      return child.pid;
    },
    get url() {
      return `http://127.0.0.1:${port}`;
    },
    /** Waits until `is()` returns true. */
    async until(is, ms = 15_000) {
      const end = Date.now() + ms;
      while (!(await is())) {
        if (Date.now() > end) throw new Error(`never: ${is}`);
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
    },
    async api(method, path, body, headers = {}) {
      const response = await fetch(`${this.url}/${path}`, {
        method,
        headers: { ...(typeof body === 'string' ? {} : { 'content-type': 'application/json' }), ...headers },
        body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
      });
      const text = await response.text();
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 500)}`);
      return text ? (response.headers.get('content-type')?.includes('json') ? JSON.parse(text) : text) : null;
    },
  };
}

let browser;
after(() => browser?.close());

/**
 * Opens the console at `path` (`#/prompts`). `init` runs in the page before its scripts. `page.troubles`
 * collects errors of the page and its console, content security policy violations, and requests to other
 * origins. `page.refused` collects error responses of the server, which Chromium also logs.
 */
export async function visit(server, path = '', { width = 1440, height = 900, theme = 'light', language = 'en', token, prefix = '', reduced = true, first = false, scale = 1, init } = {}) {
  browser ??= await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  });
  const context = await browser.newContext({
    viewport: { width, height },
    deviceScaleFactor: scale,
    colorScheme: theme,
    locale: language === 'zh' ? 'zh-CN' : 'en-US',
    // axe must not read colours in transition.
    reducedMotion: reduced ? 'reduce' : 'no-preference',
    acceptDownloads: true,
  });
  if (token) await context.addInitScript((value) => sessionStorage.setItem('quillet.token', value), token);
  if (init) await context.addInitScript(init);
  context.setDefaultTimeout(15_000);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const page = await context.newPage();
  watch(page, server);
  if (process.env.QUILLET_CONSOLE === 'files') await page.route('**/console/**', fromCheckout);
  await page.goto(`${server.url}${prefix}/${path}`);
  // The first view asks for a token if one is needed.
  if (!first) await ready(page);
  return page;
}

/** Opens a second tab with its own session storage. */
export async function beside(server, page, path) {
  const tab = await page.context().newPage();
  watch(tab, server);
  if (process.env.QUILLET_CONSOLE === 'files') await tab.route('**/console/**', fromCheckout);
  await tab.goto(`${server.url}/${path}`);
  await ready(tab);
  return tab;
}

/** Waits until a view is ready. */
export async function ready(page) {
  await page.locator('main:not([aria-busy]) h1').first().waitFor();
}

/** Opens another view in the same page. */
export async function go(page, hash) {
  await page.evaluate((to) => (location.hash = to), hash);
  await page.waitForFunction(() => !document.querySelector('main[aria-busy]'));
  await ready(page);
}

function watch(page, server) {
  page.troubles = [];
  page.refused = [];
  page.on('pageerror', (error) => page.troubles.push(`error: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() !== 'error') return;
    // The page handles error responses of the server, but not missing files.
    const asked = message.location().url;
    if (message.text().startsWith('Failed to load resource') && /\/(api|v1)\//.test(asked)) {
      page.refused.push(`${message.text().replace(/.*status of (\d+).*/, '$1')} ${asked}`);
      return;
    }
    page.troubles.push(`console: ${message.text()}`);
  });
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (/^https?:$/.test(url.protocol) && url.origin !== server.url) page.troubles.push(`asked ${url}`);
  });
  page.on('dialog', (dialog) => {
    if (dialog.type() !== 'beforeunload') page.troubles.push(`dialog: ${dialog.message()}`);
    dialog.accept().catch(() => {});
  });
}

function fromCheckout(route) {
  const path = new URL(route.request().url()).pathname.replace(/.*\/console\//, '');
  try {
    const body = readFileSync(join(FILES, path));
    return route.fulfill({ body, contentType: `${MEDIA[path.split('.').pop()]}; charset=utf-8` });
  } catch {
    return route.continue();
  }
}

/** Asserts that the page has had no errors so far. */
export function clean(page) {
  assert.deepEqual(page.troubles, []);
}

/** Asserts that axe finds no violation, the page does not scroll sideways, and there are no errors. */
export async function accessible(page, what = page.url()) {
  // Evaluated over the protocol, so the content security policy stays active.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(AXE);
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  const told = found.violations.map(
    ({ id, help, nodes }) => `${id}: ${help}\n  ${nodes.slice(0, 4).map((node) => `${node.target.join(' ')} ${node.failureSummary.replace(/\s+/g, ' ')}`).join('\n  ')}`,
  );
  assert.deepEqual(told, [], what);
  const [wide, has] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  assert.ok(wide <= has, `${what} is ${wide} px wide in a window of ${has}`);
  clean(page);
}

/** Asserts that no control is hidden behind another element. */
export async function uncovered(page, what = page.url()) {
  const covered = await page.evaluate(() => {
    const found = [];
    for (const element of document.querySelectorAll('a[href], button, input, select, textarea, summary, [role="tab"]')) {
      const style = getComputedStyle(element);
      if (element.closest('.skip, .out, [hidden]') || style.visibility === 'hidden' || element.getClientRects().length === 0) continue;
      element.scrollIntoView({ block: 'center', inline: 'center' });
      const box = element.getClientRects()[0];
      const [x, y] = [box.left + box.width / 2, box.top + Math.min(box.height, innerHeight) / 2];
      const top = document.elementFromPoint(x, y);
      if (!top || !(element.contains(top) || top.contains(element) || top.closest('label')?.control === element)) {
        found.push(`${element.outerHTML.slice(0, 120)} at ${Math.round(x)},${Math.round(y)} is under ${top?.outerHTML.slice(0, 120)}`);
      }
    }
    scrollTo(0, 0);
    return found;
  });
  assert.deepEqual(covered, [], what);
}

/** Checks a view in all sizes, languages and themes. `look(page)` prepares its state. */
export async function everywhere(server, path, look = async () => {}) {
  for (const width of WIDTHS) {
    for (const language of LANGUAGES) {
      const page = await visit(server, path, { width, language });
      await look(page, language);
      for (const theme of THEMES) {
        await page.emulateMedia({ colorScheme: theme });
        await accessible(page, `${path} at ${width} px, ${language}, ${theme}`);
      }
      await page.context().close();
    }
  }
}

/** Presses a key until an element has the focus. */
export async function reach(page, locator, key = 'Tab', most = 300) {
  for (let pressed = 0; pressed < most; pressed += 1) {
    if (await locator.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press(key);
  }
  throw new Error(`${key} does not lead to ${locator}`);
}

/** Asserts that no text ran as a script, became markup, or shows direction-changing characters. */
export async function staysText(page, what = '') {
  const found = await page.evaluate(() => {
    const wrong = [];
    if ('hostile' in globalThis) wrong.push('a text has run');
    const foreign = 'main script, main img, main iframe, main object, main embed, main style, main base, main meta, main form[action]';
    for (const element of document.querySelectorAll(`${foreign}, [style*="inset"]`)) wrong.push(`an element: ${element.outerHTML.slice(0, 200)}`);
    for (const element of document.querySelectorAll('*')) {
      for (const { name, value } of element.attributes) {
        if (name.startsWith('on')) wrong.push(`a listener: ${name}`);
        if (/^(href|src|action)$/.test(name) && /^\s*(javascript|data):/i.test(value)) wrong.push(`an address: ${value.slice(0, 80)}`);
      }
    }
    const turning = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode;
      // Editors show the text unchanged.
      if (node.parentElement.closest('textarea, q-code')) continue;
      if (turning.test(node.data)) wrong.push(`unseen characters: ${JSON.stringify(node.data.slice(0, 80))}`);
    }
    return wrong;
  });
  assert.deepEqual(found, [], what);
  clean(page);
}

/** Returns the durations of long tasks during `work`, in milliseconds. */
export async function longTasks(page, work) {
  await page.evaluate(() => {
    globalThis.longTasks = [];
    globalThis.longTaskObserver = new PerformanceObserver((list) => globalThis.longTasks.push(...list.getEntries().map((one) => one.duration)));
    globalThis.longTaskObserver.observe({ entryTypes: ['longtask'] });
  });
  await work();
  return page.evaluate(async () => {
    // The browser reports the last entries with the next task.
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    globalThis.longTasks.push(...globalThis.longTaskObserver.takeRecords().map((one) => one.duration));
    globalThis.longTaskObserver.disconnect();
    return globalThis.longTasks;
  });
}
