// The types match the package, in CommonJS and ES modules.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import * as base from 'quillet';
import * as service from 'quillet/service';
import * as straight from 'quillet-service';

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

test('all entry points export the same names', () => {
  const names = ['Catalogue', 'QuilletError', 'checkQuery', 'run'];
  const common = require('quillet/service');
  for (const one of [service, straight, common]) {
    assert.deepEqual(
      Object.keys(one)
        .filter((name) => name !== 'default')
        .sort(),
      names,
    );
    assert.equal(one.run, straight.run);
  }
  assert.equal(service.QuilletError, base.QuilletError);
});

test('both packages have the same version and refer to each other', () => {
  const engine = require('quillet/package.json');
  const here = require('quillet-service/package.json');
  assert.equal(here.version, engine.version);
  assert.equal(here.dependencies.quillet, engine.version);
  assert.equal(engine.peerDependencies['quillet-service'], engine.version);
  assert.ok(engine.peerDependenciesMeta['quillet-service'].optional);
});

test('without the second package the error names the command to install it', (t) => {
  const alone = mkdtempSync(join(tmpdir(), 'quillet-'));
  t.after(() => rmSync(alone, { recursive: true, force: true }));
  cpSync(dirname(require.resolve('quillet/package.json')), alone, { recursive: true });
  assert.throws(
    () => require(join(alone, 'lib', 'service.cjs')),
    /comes with the package quillet-service: npm install quillet-service/,
  );
});
