// The types match the package, in CommonJS and ES modules.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import * as quillet from 'quillet';

const require = createRequire(import.meta.url);

test('a program with the whole API type-checks', () => {
  const tsc = require.resolve('typescript/bin/tsc');
  const files = ['types/module.mts', 'types/common.cts'].map((file) =>
    fileURLToPath(new URL(file, import.meta.url)),
  );
  const options = [
    '--noEmit',
    '--strict',
    '--target',
    'es2022',
    '--module',
    'nodenext',
    '--lib',
    'es2022,dom',
  ];
  try {
    execFileSync(process.execPath, [tsc, ...options, ...files], { encoding: 'utf8' });
  } catch (error) {
    assert.fail(error.stdout);
  }
});

test('CommonJS and ES modules export the same names', () => {
  const names = ['QuilletError', 'Template', 'check', 'convert', 'float', 'formats'];
  assert.deepEqual(
    Object.keys(quillet)
      .filter((name) => name !== 'default')
      .sort(),
    names,
  );
  const common = require('quillet');
  assert.deepEqual(Object.keys(common).sort(), names);
  assert.equal(common.Template, quillet.Template);
});
