// Tests of the harness: its checks detect what they should.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { accessible, clean, serve, staysText, visit } from './harness.mjs';
import { TEXTS } from './hostile.mjs';

const server = await serve();

test('the checks detect errors', async () => {
  const page = await visit(server, '#/prompts');
  await accessible(page);
  await staysText(page);
  await page.evaluate(() => {
    globalThis.hostile = 1;
    console.error('this is seen');
    document.querySelector('main').append(document.createElement('iframe'), '\u202e', document.createElement('button'));
    fetch('http://127.0.0.1:9/elsewhere').catch(() => {});
  });
  await page.waitForFunction(() => document.querySelector('main iframe'));
  await assert.rejects(staysText(page), /a text has run/);
  await assert.rejects(accessible(page), /button-name/);
  assert.throws(() => clean(page), /this is seen/);
});

test('the corpus has at least sixty distinct texts', () => {
  assert.ok(TEXTS.length >= 60);
  assert.equal(new Set(TEXTS.map(([, text]) => text)).size, TEXTS.length);
});
