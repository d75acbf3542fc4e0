// Worker threads have their own stores and scripts, and may end while these run.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { Catalogue, run } from 'quillet/service';

async function work() {
  const catalogue = await Catalogue.open('memory:');
  await catalogue.put('one', '{{ f(n) }}');
  const texts = [];
  for (let n = 0; n < 20; n++) {
    texts.push(await catalogue.render('one', { n }, { tools: { f: async (n) => n + 1 } }));
    texts.push(
      await run('user: "{{n}}"\n', { inputs: { n }, model: (messages) => messages[0].content }),
    );
  }
  catalogue.close();
  return texts.join();
}

if (isMainThread) {
  test('many workers run and some are terminated while working', async () => {
    const expected = await work();
    const workers = Array.from({ length: 4 }, () => new Worker(new URL(import.meta.url)));
    const results = workers.map(
      (worker, index) =>
        new Promise((resolve, reject) => {
          worker.once('error', reject);
          if (index === 3)
            worker.once('online', () => worker.terminate().then(() => resolve(expected), reject));
          else worker.once('message', resolve);
        }),
    );
    assert.deepEqual(await Promise.all(results), [expected, expected, expected, expected]);
    assert.equal(await work(), expected);
  });
} else {
  parentPort.postMessage(await work());
  // The worker is ended while its script hangs.
  run('user: q\n', { model: () => new Promise(() => {}) }).catch(() => {});
  setTimeout(() => process.exit(), 50);
}
