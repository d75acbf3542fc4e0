// Templates that try to break the engine (`conformance/hostile`), on the main thread and in a
// worker. Each is rejected or ends within its limits, and the engine keeps working.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { QuilletError, Template } from 'quillet';
import { conformance } from './vectors.mjs';

const FILES = ['go', 'jinja', 'fstring', 'sk', 'handlebars', 'liquid']
  .map((name) => `templates_${name}`)
  .concat('injection');
// Formats as named in the lines. The format strings come from LangChain, which rejects some that
// Python allows.
const FORMATS = {
  go: 'go',
  hf: 'hf',
  fstring: 'f-string-strict',
  'semantic-kernel': 'semantic-kernel',
  handlebars: 'handlebars',
  liquid: 'liquid',
};

// Pointers take half the memory in the WebAssembly module, and the memory limit reflects that, so
// this template may end within its limits.
const MAY_END = process.env.QUILLET_BITS === '32' ? ['hf-q-many-namespaces'] : [];

/** Error messages by line. */
function complaints() {
  const found = [];
  let count = 0;
  for (const file of FILES) {
    const text = readFileSync(new URL(`hostile/${file}.jsonl`, conformance), 'utf8');
    for (const line of text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))) {
      if (FORMATS[line.format] === undefined) continue;
      count++;
      const complaint = complain(line);
      if (complaint) found.push(`${line.id}: ${complaint}`);
      const alive = new Template('{{ 1 + 1 }}').render();
      if (alive !== '2') found.push(`${line.id}: nothing works afterwards`);
    }
  }
  return { count, found };
}

function complain(line) {
  let said;
  let refused = false;
  try {
    const data = decoded(line.data ?? {});
    said = new Template(decodedText(line.template), {
      name: 'main',
      format: FORMATS[line.format],
    }).render(data !== null && typeof data === 'object' && !Array.isArray(data) ? data : {});
  } catch (error) {
    if (!(error instanceof QuilletError)) return `it throws ${error}`;
    refused = true;
    said = error.message;
  }
  if (line.expect === 'refuse' && !refused && !MAY_END.includes(line.id))
    return `not refused: ${said.slice(0, 200)}`;
  if (line.expect === 'ok' && refused) return `refused: ${said.slice(0, 200)}`;
  if (line.expect === 'ok' && typeof line.result === 'string' && line.result !== said)
    return `another text: ${said.slice(0, 200)}`;
  if (line.limits?.out_bytes !== undefined && Buffer.byteLength(said) > line.limits.out_bytes)
    return `${said.length} characters of output`;
  const shown = (line.must_not_contain ?? []).find((part) => said.includes(part));
  return shown && `it shows ${shown}`;
}

function decodedText(value) {
  if (typeof value === 'string') return value;
  return (value?.segments ?? []).map(([text, count]) => text.repeat(count)).join('');
}

function decoded(value) {
  if (Array.isArray(value)) return value.map(decoded);
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value.repeat)) return Array(value.repeat[1]).fill(decoded(value.repeat[0]));
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, decoded(field)]));
}

if (isMainThread) {
  test('on the main thread', () => {
    const { count, found } = complaints();
    assert.ok(count > 100, `${count} lines`);
    assert.deepEqual(found, []);
  });

  test('in a worker', async () => {
    const worker = new Worker(new URL(import.meta.url));
    const { found } = await new Promise((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
      worker.once('exit', (code) => reject(new Error(`the worker ended with ${code}`)));
    });
    assert.deepEqual(found, []);
  });
} else {
  parentPort.postMessage(complaints());
}
