// Labels and versions in a real Redis; other processes see the changes.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { after, before, test } from 'node:test';
import { Catalogue } from 'quillet/service';

let port;
let server;

async function freePort() {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address();
  listener.close();
  await once(listener, 'close');
  return port;
}

const answers = (port) =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => (socket.destroy(), resolve(true)));
    socket.once('error', () => resolve(false));
  });

before(async () => {
  port = await freePort();
  const options = ['--bind', '127.0.0.1', '--port', `${port}`, '--save', '', '--dir', tmpdir()];
  server = spawn('redis-server', options, { stdio: 'ignore' });
  for (let turn = 0; turn < 400 && !(await answers(port)); turn++) await pause(50);
});
after(() => server.kill('SIGKILL'));

const store = () => `redis://127.0.0.1:${port}/`;
/** A write by another program. */
const cli = (...command) => execFileSync('redis-cli', ['-p', `${port}`, ...command]);

test('writes by other programs take effect', async () => {
  cli('set', 'shenma:templates:a:b', '{"prompt": "Hello {{ n }}!", "format": "jinja"}');
  const catalogue = await Catalogue.open(store());
  assert.deepEqual(catalogue.ids(), ['a.b']);
  assert.equal(await catalogue.render('a.b', { n: 'Ada' }), 'Hello Ada!');
  cli('set', 'shenma:templates:a:b', '{"prompt": "Bye {{ n }}, {{ city }}!", "format": "jinja"}');
  cli('set', 'shenma:environs:city', '"Oslo"');
  await catalogue.sync();
  assert.equal(await catalogue.render('a.b', { n: 'Ada' }), 'Bye Ada, Oslo!');
  catalogue.close();
});

test('another process sees labels and versions', async () => {
  const catalogue = await Catalogue.open(store());
  await catalogue.put('greet', 'one', { labels: ['production'] });
  const code = `
    import { Catalogue } from 'quillet/service';
    import { setTimeout as pause } from 'node:timers/promises';
    const catalogue = await Catalogue.open(${JSON.stringify(store())});
    let before;
    for (const end = Date.now() + 50_000; Date.now() < end && before !== 'three'; await pause(1)) {
      const text = await catalogue.render('greet');
      if (text !== before) console.log((before = text));
    }
  `;
  const follower = spawn(process.execPath, ['--input-type=module', '-e', code], {
    cwd: new URL('.', import.meta.url),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: follower.stdout })[Symbol.asyncIterator]();
  const line = async () => (await lines.next()).value;
  assert.equal(await line(), 'one');
  // Without `sync`: the catalogue follows the store automatically.
  await catalogue.put('greet', 'two', { labels: ['production'] });
  assert.equal(await line(), 'two');
  assert.equal(await catalogue.put('greet', 'three'), 3);
  assert.equal(await catalogue.render('greet', {}, { version: 3 }), 'three');
  await catalogue.setLabel('greet', 'production', 3);
  assert.equal(await line(), 'three');
  catalogue.close();
});
