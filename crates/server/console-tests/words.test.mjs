// Every text of the console has a Chinese translation with the same placeholders.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const FOLDER = new URL('../console/', import.meta.url);
const LITERAL = /\bt\(\s*('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`)/g;

const files = readdirSync(FOLDER, { recursive: true }).filter((name) => name.endsWith('.js') && !name.startsWith('zh'));
const zh = {};
for (const name of readdirSync(new URL('zh/', FOLDER))) {
  const source = readFileSync(new URL(`zh/${name}`, FOLDER), 'utf8');
  const { default: words } = await import(`data:text/javascript,${encodeURIComponent(source)}`);
  Object.assign(zh, words);
}

/** Returns the texts in a file, and the names of sections shown through `t(name)`. */
function sentences(name) {
  const source = readFileSync(new URL(name, FOLDER), 'utf8');
  const found = [...source.matchAll(LITERAL)].map(([, literal]) => {
    assert.notEqual(literal, '`', `${name}: a sentence is put together`);
    return literal.slice(1, -1).replace(/\\(.)/g, '$1');
  });
  const sections = [...source.matchAll(/^ {2}\['\w+', '([^']+)', \(\) => import/gm)].map(([, section]) => section);
  return [...found, ...sections];
}

const places = (text) => (text.match(/\{\w+\}/g) ?? []).sort().join(' ');

test('each text has a Chinese translation', () => {
  const missing = files.flatMap((name) => sentences(name).filter((sentence) => !(sentence in zh)).map((sentence) => `${name}: ${sentence}`));
  assert.deepEqual([...new Set(missing)], []);
});

test('the Chinese has the same placeholders', () => {
  const wrong = Object.entries(zh).filter(([english, chinese]) => places(english) !== places(chinese));
  assert.deepEqual(wrong, []);
});
