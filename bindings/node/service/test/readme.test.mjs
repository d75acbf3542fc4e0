// Runs each JavaScript block of the README and compares its output with the comments after or below
// its `console.log`.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

for (const page of ['README.md', 'node.md']) {
  const text = readFileSync(new URL(page, import.meta.url), 'utf8');
  const blocks = [...text.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code]) => code);
  // The browser tests cover examples that need the browser module.
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
