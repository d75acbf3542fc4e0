// Functions called by stored prompts.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Catalogue } from 'quillet/service';

let catalogue;
before(async () => {
  catalogue = await Catalogue.open('memory:', { timeoutMs: 20_000 });
  await catalogue.put('one', '[{{ f(1) }}]');
  await catalogue.put('two', '{{ a(1) }}{{ b(2) }}');
  await catalogue.put('named', '{{ f(unit="C") }}');
  await catalogue.put('looked', '{{ f("Oslo").sky }}');
});
after(() => catalogue.close());

const render = (id, tools, options) => catalogue.render(id, {}, { tools, ...options });

test('calls', async () => {
  assert.equal(await render('one', { f: (n) => n + 1 }), '[2]');
  assert.equal(await render('one', { f: async (n) => n + 1 }), '[2]');
  assert.equal(await render('named', { f: ({ unit }) => unit }), 'C');
  assert.equal(await render('looked', { f: (city) => ({ sky: `${city}: grey` }) }), 'Oslo: grey');
  const f = { call: ({ city }) => ({ sky: city }), parameters: ['city'], description: 'd' };
  assert.equal(await render('looked', { f }), 'Oslo');
  assert.equal(await render('one', { f: () => undefined }), '[none]'.replace('none', 'None'));
});

test('calls run concurrently', async () => {
  // Each waits for the other, so sequential calls would never end.
  let meet;
  const met = new Promise((resolve) => (meet = resolve));
  assert.equal(await render('two', { a: () => met.then(() => 1), b: () => (meet(), 2) }), '12');
});

const circle = [];
circle.push(circle);
const FAILURES = [
  [
    () => {
      throw new Error('no such city');
    },
    'no such city',
  ],
  [
    async () => {
      throw new TypeError('odd');
    },
    'TypeError: odd',
  ],
  [
    () => {
      throw {
        toString() {
          throw new Error();
        },
      };
    },
    'a value without text',
  ],
  [() => () => 1, 'is a function'],
  [() => NaN, 'NaN'],
  [() => 1n << 70n, '64 bits'],
  [() => Buffer.from('x'), 'the result of f'],
  [() => circle, 'the result of f'],
];

FAILURES.forEach(([f, said], index) => {
  test(`a failed call renders nothing and is reported: ${index}`, async () => {
    const told = [];
    const text = await render('one', { f }, { onToolError: (failed) => told.push(failed) });
    assert.equal(text, '[]');
    assert.equal(told.length, 1);
    assert.equal(told[0].tool, 'f');
    assert.ok(told[0].message.includes(said), told[0].message);
    assert.ok(told[0].error !== undefined);
    await assert.rejects(
      render(
        'one',
        { f },
        {
          onToolError: ({ message }) => {
            throw new Error(`told: ${message}`);
          },
        },
      ),
      /^Error: told: /,
    );
  });
});

test('a process warning is emitted without a listener', async () => {
  const warned = new Promise((resolve) => process.once('warning', resolve));
  assert.equal(await render('one', { f: FAILURES[0][0] }), '[]');
  const warning = await warned;
  assert.equal(warning.name, 'QuilletWarning');
  assert.match(warning.message, /no such city/);
});

test('a hanging function does not block others', async () => {
  const quick = await Catalogue.open('memory:', { timeoutMs: 300 });
  await quick.put('one', '[{{ f(1) }}]');
  const told = [];
  const tools = { f: () => new Promise(() => {}) };
  const text = await quick.render(
    'one',
    {},
    { tools, onToolError: (failed) => told.push(failed.message) },
  );
  assert.equal(text, '[]');
  assert.match(told[0], /did not answer within the render timeout/);
  quick.close();
});

test('a signal aborts a render', async () => {
  const controller = new AbortController();
  const tools = { f: () => (controller.abort(new Error('enough')), new Promise(() => {})) };
  await assert.rejects(render('one', tools, { signal: controller.signal }), /enough/);
  await assert.rejects(render('one', tools, { signal: controller.signal }), /enough/);
  assert.equal(await render('one', { f: () => 'on' }), '[on]');
});

test('a function may call the package', async () => {
  const f = async () =>
    (await render('one', { f: () => 'inner' })) + Object.keys(await catalogue.labels('one'));
  assert.equal(await render('one', { f }), '[[inner]]');
});
