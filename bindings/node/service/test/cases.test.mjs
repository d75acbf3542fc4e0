// The cases of scripts in `conformance`, with a JavaScript function as the model.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { run } from 'quillet/service';

const CONFORMANCE = process.env.QUILLET_CONFORMANCE;
const FILES = [
  'inventory-answers',
  'inventory-code',
  'inventory-messages',
  'inventory-model',
  'inventory-scripts',
  'inventory-text',
  'review',
  'seed-samples',
];
const KNOWN = readFileSync(join(CONFORMANCE, 'known', 'scripts.txt'), 'utf8')
  .split('\n')
  .filter((line) => line && !line.startsWith('#'))
  .map((line) => line.split(' ')[0]);
// Host features in Rust that the packages lack: parse-only and dry runs, continued conversations,
// prices, models that stream, break off or are missing, and WebAssembly.
const NOT_HERE = ['read', 'dry', 'history', 'streamed_only'];
const NOT_HERE_BY_ID = ['model-missing', 'wasm', 'wasm-spins', 'seed-873'];
const ODD_RULES = ['fails', 'cut', 'hangs', 'finish', 'thinking'];

const has = (object, keys) => keys.some((key) => Object.hasOwn(object ?? {}, key));
const isHere = (one) =>
  !(
    KNOWN.includes(one.id) ||
    NOT_HERE_BY_ID.includes(one.id) ||
    has(one, NOT_HERE) ||
    has(one.limits, ['cost', 'price']) ||
    (one.llm ?? []).some((rule) => has(rule, ODD_RULES))
  );
const cases = FILES.flatMap((name) =>
  JSON.parse(readFileSync(join(CONFORMANCE, 'scripts', `${name}.json`), 'utf8')).filter(isHere),
);

const content = ({ content }) =>
  typeof content === 'string' ? content : content ? JSON.stringify(content) : '';
const textOf = (messages) => messages.map((one) => `${one.role}: ${content(one)}`).join('\n');
const shown = (value) => (typeof value === 'string' ? value : (JSON.stringify(value) ?? 'null'));

/** Model that answers by the rules of a case. */
function modelOf({ llm = [] }, asked) {
  return (messages, options) => {
    asked.push({ messages, options });
    const conversation = textOf(messages);
    // Case-insensitivity is an inline flag, which JavaScript does not support.
    const rule = llm.find(({ match }) => pattern(match).test(conversation));
    if (rule === undefined) return `ECHO(${messages.length ? content(messages.at(-1)) : ''})`;
    const { reply = '', tool_calls = [] } = rule;
    if (tool_calls.length === 0) return reply;
    const calls = tool_calls.map(({ name, arguments: given = null }, index) => ({
      id: `call-${index}`,
      type: 'function',
      function: { name, arguments: JSON.stringify(given) },
    }));
    return { role: 'assistant', content: reply, tool_calls: calls };
  };
}

function pattern(text) {
  const flags = text.match(/^\(\?([a-z]+)\)/);
  return flags
    ? new RegExp(text.slice(flags[0].length), `s${flags[1].replace('s', '')}`)
    : new RegExp(text, 's');
}

function toolsOf({ tools = {} }) {
  const tool = ({ description, parameters, reply = null, fails }) => ({
    call: () => {
      if (fails) throw new Error(fails);
      return reply;
    },
    description,
    // As in Rust, if nothing is declared.
    parameters: parameters ?? { type: 'object', properties: {} },
  });
  return Object.fromEntries(Object.entries(tools).map(([name, given]) => [name, tool(given)]));
}

function write(folder, files = {}) {
  for (const [name, file] of Object.entries(files)) {
    const place = join(folder, name);
    mkdirSync(dirname(place), { recursive: true });
    if (Array.isArray(file)) writeFileSync(place, file.map((line) => `${line}\n`).join(''));
    else writeFileSync(place, typeof file === 'string' ? file : Buffer.from(file.base64, 'base64'));
  }
}

const list = (given) => (given === undefined ? [] : Array.isArray(given) ? given : [given]);
const indexed = (object = {}) => Object.entries(object);

/** Whether an object has the expected fields; it may have others. */
function holds(wanted, got) {
  const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);
  if (!isObject(wanted) || !isObject(got)) return isSame(wanted, got);
  return Object.entries(wanted).every(([key, value]) => key in got && holds(value, got[key]));
}

function isSame(wanted, got) {
  try {
    assert.deepStrictEqual(got, wanted);
    return true;
  } catch {
    return false;
  }
}

/** Consecutive messages of one role are joined with a blank line. */
function merged(turns) {
  const found = [];
  for (const turn of turns) {
    const before = found.at(-1);
    if (before?.role === turn.role) before.content += `\n\n${content(turn)}`;
    else found.push({ role: turn.role, content: content(turn) });
  }
  return found;
}

test('the conformance folder has cases', () => assert.ok(cases.length >= 668, `${cases.length}`));

for (const one of cases) {
  test(one.id, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'quillet-'));
    try {
      write(folder, one.files);
      const [asked, printed, warned] = [[], [], []];
      const onEvent = ({ type, text }) => {
        if (type === 'printed') printed.push(text);
        if (type === 'warning') warned.push(text);
      };
      const { grants = {}, limits = {} } = one;
      const under = (names = []) => names.map((name) => join(folder, name));
      let value;
      let failed;
      try {
        value = await run(join(folder, one.run), {
          inputs: one.args,
          model: modelOf(one, asked),
          tools: toolsOf(one),
          abilities: Object.entries(one.abilities ?? {}).flatMap(([name, is]) =>
            is ? [name] : [],
          ),
          parameters: one.parameters,
          seed: one.seed ?? 1,
          limits: {
            steps: limits.steps,
            depth: limits.depth,
            modelCalls: limits.model_calls,
            tokens: limits.tokens,
            messages: limits.messages,
            bytes: limits.bytes,
            jsMs: limits.js_time,
            jsBytes: limits.js_memory,
          },
          timeoutMs: 50_000,
          onEvent,
          allowRead: under(grants.read),
          allowWrite: under(grants.write),
          allowNet: grants.net,
          allowRun: grants.run,
          allowEnv: grants.env ?? [],
        });
      } catch (error) {
        failed = error;
      }
      outcome(one.expect, value, failed);
      const said = printed.join('\n');
      for (const part of one.expect.stdout_contains ?? []) assert.ok(said.includes(part), said);
      for (const part of one.expect.stdout_excludes ?? []) assert.ok(!said.includes(part), said);
      if (one.expect.stdout) assert.deepEqual(printed, one.expect.stdout);
      if (!failed)
        for (const part of one.expect.warnings_contains ?? [])
          assert.ok(warned.join('\n').includes(part), warned.join('\n'));
      requests(one.expect, asked);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}

function outcome(expect, value, failed) {
  if (!expect.error && !expect.error_code && !expect.error_contains?.length) {
    if (failed) throw failed;
    if ('result' in expect) {
      const wanted = expect.result?.$undefined ? undefined : expect.result;
      assert.deepStrictEqual(value, wanted);
    }
    if (expect.result_in)
      assert.ok(
        expect.result_in.some((wanted) => isSame(wanted, value)),
        shown(value),
      );
    for (const part of list(expect.result_contains))
      assert.ok(shown(value).includes(part), shown(value));
    for (const part of list(expect.result_excludes))
      assert.ok(!shown(value).includes(part), shown(value));
    return;
  }
  assert.ok(failed, `an error is expected, not ${shown(value)}`);
  if (expect.error_code) assert.equal(failed.code, expect.error_code, failed.message);
  const findings = (failed.findings ?? []).map(
    ({ source, line, column, message, hint }) =>
      `${source}:${line}:${column}: ${message} (${hint})`,
  );
  const all = [failed.message, ...findings].join('\n');
  for (const part of expect.error_contains ?? []) assert.ok(all.includes(part), all);
}

function requests(expect, asked) {
  if (expect.request_count !== undefined) assert.equal(asked.length, expect.request_count);
  (expect.requests ?? []).forEach((wanted, index) =>
    assert.deepEqual(merged(asked[index].messages), merged(wanted)),
  );
  for (const [index, parts] of indexed(expect.request_contains))
    for (const part of parts) assert.ok(textOf(asked[index].messages).includes(part));
  for (const [index, parts] of indexed(expect.request_excludes))
    for (const part of parts) assert.ok(!textOf(asked[index].messages).includes(part));
  for (const [index, options] of indexed(expect.request_options))
    for (const [name, wanted] of Object.entries(options))
      assert.ok(
        holds(wanted, asked[index].options[name] ?? null),
        `${name}: ${shown(asked[index].options[name])}`,
      );
  for (const [index, names] of indexed(expect.request_without))
    for (const name of names) assert.ok(!(name in asked[index].options), name);
  for (const [index, name] of indexed(expect.request_models))
    assert.equal(asked[index].options.model, name);
  for (const [index, wanted] of indexed(expect.request_tools)) {
    const offers = (asked[index].options.tools ?? []).map((tool) => tool.function);
    assert.equal(offers.length, wanted.length);
    wanted.forEach((tool, at) =>
      assert.ok(typeof tool === 'string' ? offers[at].name === tool : holds(tool, offers[at])),
    );
  }
}
