// Scripts whose model and tools are JavaScript functions.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { test } from 'node:test';
import { Catalogue, QuilletError, run } from 'quillet/service';

const ASK = '---\ninput: [name]\n---\n- system: Be brief.\n- user: "Hi {{name}}"\n';
const last = (messages) => messages.at(-1).content;

function temporary(t) {
  const place = mkdtempSync(join(tmpdir(), 'quillet-'));
  t.after(() => rmSync(place, { recursive: true, force: true }));
  return place;
}

test('scripts from a file and from text', async (t) => {
  const file = join(temporary(t), 'ask.ai.yaml');
  writeFileSync(file, ASK);
  for (const script of [file, pathToFileURL(file), ASK]) {
    const asked = [];
    const model = (messages) => (asked.push(messages), 'Hello back');
    assert.equal(await run(script, { inputs: { name: 'Ada' }, model }), 'Hello back');
    assert.deepEqual(asked, [
      [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hi Ada' },
      ],
    ]);
  }
});

test('inputs and results', async () => {
  const inputs = { a: { b: [1, 2] } };
  assert.equal(await run('user: "{{a.b[1]}}"\n', { inputs, model: last }), '2');
  assert.equal(await run('system: x\n', { inputs: 'what I say', model: last }), 'what I say');
  const value = await run('$ret: "?=({a: 1, b: [2, null]})"\n', { model: last });
  assert.deepEqual(value, { a: 1, b: [2, null] });
  assert.equal(await run('$ret: "?=undefined"\n', { model: last }), undefined);
  const script = '---\nparameters: {model: gpt-x, temperature: 0.5}\n---\nuser: q\n';
  let told;
  await run(script, {
    model: (_, options) => ((told = options), 'a'),
    parameters: { top_p: 0.25 },
  });
  assert.deepEqual(
    [told.model, told.temperature, told.top_p, told.stream],
    ['gpt-x', 0.5, 0.25, undefined],
  );
});

test('answer formats', async () => {
  const message = { role: 'assistant', content: 'a message' };
  const completion = { choices: [{ index: 0, message, finish_reason: 'stop' }] };
  for (const answer of ['a message', message, completion]) {
    assert.equal(await run('user: q\n', { model: () => answer }), 'a message');
    assert.equal(await run('user: q\n', { model: async () => answer }), 'a message');
  }
  const odd = [
    undefined,
    null,
    1,
    [],
    {},
    { role: 'assistant' },
    { choices: [] },
    () => 1,
    NaN,
    Buffer.from('x'),
  ];
  for (const answer of odd) {
    await assert.rejects(run('user: q\n', { model: () => answer }), (error) => {
      assert.ok(error instanceof QuilletError);
      assert.equal(error.code, 'script.model');
      return true;
    });
  }
});

test('an exception of the model fails the script', async () => {
  const thrown = new TypeError('no network');
  for (const model of [
    () => {
      throw thrown;
    },
    async () => {
      throw thrown;
    },
  ]) {
    await assert.rejects(run('system: x\nuser: q\n', { model }), (error) => {
      assert.equal(error.code, 'script.model');
      assert.match(error.message, /TypeError: no network/);
      assert.equal(error.cause, thrown);
      assert.ok(error.line >= 1);
      return true;
    });
  }
});

test('a hanging model ends at the timeout or the signal', async () => {
  const model = () => new Promise(() => {});
  await assert.rejects(
    run('user: q\n', { model, timeoutMs: 200 }),
    ({ code }) => code === 'script.limit',
  );
  const signal = AbortSignal.timeout(100);
  await assert.rejects(run('user: q\n', { model, signal }), ({ name }) => name === 'TimeoutError');
});

const TOOLS = '---\ntools: [weather]\n---\nuser: How is Oslo?\n';
const weather = {
  call: ({ city }) => `cold in ${city}`,
  description: 'The weather of a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
};

test('tools called by the model and by the script', async () => {
  let offered;
  const model = (messages, { tools }) => {
    if (messages.at(-1).role === 'tool') return `It is ${last(messages)}.`;
    offered = tools[0].function;
    const call = { name: offered.name, arguments: { city: 'Oslo' } };
    return { role: 'assistant', tool_calls: [{ id: '1', type: 'function', function: call }] };
  };
  assert.equal(await run(TOOLS, { model, tools: { weather } }), 'It is cold in Oslo.');
  assert.equal(offered.description, 'The weather of a city.');
  assert.deepEqual(offered.parameters.properties, { city: { type: 'string' } });
  const add = { call: async ({ a, b }) => a + b, parameters: ['a', 'b'] };
  assert.equal(await run('$tool: {name: add, a: 1, b: 2}\n', { model: last, tools: { add } }), 3);
  const thrown = new RangeError('too much');
  const fails = {
    call: () => {
      throw thrown;
    },
    parameters: [],
  };
  await assert.rejects(
    run('$tool: {name: add}\n', { model: last, tools: { add: fails } }),
    (error) => error.cause === thrown && error.message.includes('too much'),
  );
});

test('no outside access is granted by default', async (t) => {
  const place = temporary(t);
  writeFileSync(join(place, 'secret.txt'), 'secret');
  const other = temporary(t);
  const script = join(other, 'read.ai.yaml');
  const code = `this.$fs.readFileSync('${place}/secret.txt', 'utf8')`;
  writeFileSync(script, `---\nimport: {'js:fs': '*'}\n---\n- $ret: "?=${code}"\n`);
  await assert.rejects(run(script, { model: last }), /needs a permission/);
  assert.equal(await run(script, { model: last, allowRead: [place] }), 'secret');
  const env = '$ret: "?=ENV.HOME"\n';
  assert.equal(await run(env, { model: last }), undefined);
  assert.ok(await run(env, { model: last, allowEnv: ['HOME'] }));
});

test('events are reported', async () => {
  const events = [];
  const script = '---\n---\n$print: "one"\n$tool: {name: f}\n---\nuser: q\n';
  const options = { model: () => 'a', tools: { f: () => 1 } };
  await run(script, { ...options, onEvent: (event) => events.push(event) });
  assert.ok(events.some(({ type, text }) => type === 'printed' && text === 'one'));
  assert.ok(
    events.some(({ type, name, result }) => type === 'tool_result' && name === 'f' && result === 1),
  );
  assert.ok(events.some(({ type, content }) => type === 'message' && content === 'a'));
  const onEvent = () => {
    throw new Error('the watcher');
  };
  await assert.rejects(run(script, { ...options, onEvent }), /the watcher/);
});

test('a model may call the package', async () => {
  const catalogue = await Catalogue.open('memory:');
  await catalogue.put('hello', 'Hello {{ n }}!');
  const model = async () =>
    catalogue.render('hello', { n: await run('user: q\n', { model: () => 'inner' }) });
  assert.equal(await run('user: q\n', { model }), 'Hello inner!');
  catalogue.close();
});

test('errors', async () => {
  const model = () => 'a';
  const cases = [
    ['no/such/script', { model }, 'script.not_found'],
    ['user: q\n$nonsense: 1\n', { model }, 'script.not_found', 2],
    ['user: fine\n\nuser: "{% if %}"\n', { model }, 'script.template', 3],
    ['user: q\n', { model, limits: { modelCalls: 0 } }, 'script.limit'],
    ['user: q\n', { model, limits: { nonsense: 1 } }, 'option.unknown'],
    ['user: q\n', { model, abilities: ['flying'] }, 'option.value'],
    ['user: q\n', { model, search: 'folder' }, 'option.kind'],
    ['user: q\n', { model, nonsense: 1 }, 'option.unknown'],
    ['user: q\n', { model: 1 }, 'option.kind'],
    ['user: q\n', { model, inputs: { a: Symbol('a') } }, 'value.kind'],
    ['user: q\n', { model, seed: -1 }, 'option.kind'],
    [1, { model }, 'option.kind'],
  ];
  for (const [script, options, code, line] of cases) {
    await assert.rejects(run(script, options), (error) => {
      assert.equal(error.code, code, error.message);
      if (line !== undefined) assert.equal(error.line, line);
      return error instanceof QuilletError;
    });
  }
});
