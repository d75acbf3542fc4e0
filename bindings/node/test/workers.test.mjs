// Worker threads have their own templates and release everything when they end.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { Template } from 'quillet';

function work(number) {
  const template = new Template(
    '{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}',
  );
  const messages = [];
  let length = 0;
  for (let turn = 0; turn < 300; turn++) {
    messages.push({ role: `user${number}`, content: `é ${turn}` });
    length = template.render({ messages }).length;
  }
  return length;
}

if (isMainThread) {
  test('many workers run and some are terminated while working', async () => {
    const expected = work(7);
    for (let round = 0; round < 3; round++) {
      const workers = Array.from(
        { length: 4 },
        () => new Worker(new URL(import.meta.url), { workerData: 7 }),
      );
      const results = workers.map(
        (worker, index) =>
          new Promise((resolve, reject) => {
            worker.once('error', reject);
            if (index === 3) {
              worker.once('online', () => worker.terminate().then(() => resolve(expected), reject));
            } else {
              worker.once('message', resolve);
            }
          }),
      );
      assert.deepEqual(await Promise.all(results), [expected, expected, expected, expected]);
      assert.equal(work(7), expected);
    }
  });
} else {
  parentPort.postMessage(work(workerData));
}
