// Runs each JavaScript block of the README and compares its output with the comments after or below
// its `console.log`.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
const blocks = [...readme.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code]) => code);

test('the README has examples', () => assert.ok(blocks.length >= 6, `${blocks.length}`));

blocks.forEach((code, index) => {
  test(`example ${index + 1}`, () => {
    const place = fileURLToPath(new URL(`example-${index + 1}.mjs`, import.meta.url));
    writeFileSync(place, code);
    const printed = execFileSync(process.execPath, [place], { encoding: 'utf8' });
    const said = code.split('\n').flatMap((line) => line.match(/(?:^|; )\/\/ (.*)$/)?.[1] ?? []);
    assert.equal(printed.trimEnd(), said.join('\n'));
  });
});
