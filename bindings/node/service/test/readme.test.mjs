// The examples of the README print what it says: each block of JavaScript is run, and the comments
// behind or below its `console.log` are what it prints.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

for (const page of ['README.md', 'node.md']) {
  const text = readFileSync(new URL(page, import.meta.url), 'utf8');
  const blocks = [...text.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code]) => code);
  // What needs a browser's module is shown in Chromium.
  const ours = blocks.filter((code) => code.includes("from 'quillet"));

  test(`${page} has examples`, () => assert.ok(ours.length >= 3, `${ours.length}`));

  ours.forEach((code, index) => {
    test(`${page}, example ${index + 1}`, () => {
      const name = `example-${page}-${index + 1}.mjs`;
      const place = fileURLToPath(new URL(name, import.meta.url));
      writeFileSync(place, code);
      const printed = execFileSync(process.execPath, [place], { encoding: 'utf8' });
      const said = code.split('\n').flatMap((line) => line.match(/(?:^|; )\/\/ (.*)$/)?.[1] ?? []);
      assert.equal(printed.trimEnd(), said.join('\n'));
    });
  });
}
