// Values that templates accept, and values that are rejected with their path.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import vm from 'node:vm';
import { float, QuilletError, Template } from 'quillet';

const show = new Template('{{ v|tojson }}');
const text = (v) => show.render({ v });

class Point {
  #secret = 1;
  constructor(x) {
    this.x = x;
    this.y = undefined;
  }
  get far() {
    return this.#secret;
  }
}

test('values are passed unchanged', () => {
  const cases = [
    ['text', '"text"'],
    ['', '""'],
    ['hé € 😀 \0', '"h\\u00e9 \\u20ac \\ud83d\\ude00 \\u0000"'],
    [0, '0'],
    [-0, '0'],
    [2 ** 28 - 1, '268435455'],
    [2 ** 28, '268435456'],
    [-(2 ** 28), '-268435456'],
    [-(2 ** 28) - 1, '-268435457'],
    [2 ** 53 - 1, '9007199254740991'],
    [-(2 ** 53 - 1), '-9007199254740991'],
    [0.5, '0.5'],
    [2 ** 53, '9007199254740992.0'],
    [1e300, '1e+300'],
    [Number.MIN_VALUE, '5e-324'],
    [float(3), '3.0'],
    [2n ** 63n - 1n, '9223372036854775807'],
    [-(2n ** 63n), '-9223372036854775808'],
    [true, 'true'],
    [false, 'false'],
    [null, 'null'],
    [[1, [2, []], undefined], '[1, [2, []], null]'],
    // Holes.
    [[, 1], '[null, 1]'],
    [{ a: 1, b: undefined, c: { d: [] } }, '{"a": 1, "c": {"d": []}}'],
    [{}, '{}'],
    [Object.create(null, { a: { value: 1, enumerable: true }, b: { value: 2 } }), '{"a": 1}'],
    [JSON.parse('{"__proto__": 1, "constructor": 2}'), '{"__proto__": 1, "constructor": 2}'],
    [{ [Symbol('s')]: 1, a: 2 }, '{"a": 2}'],
    [new Point(1), '{"x": 1}'],
    [new Date(0), '"1970-01-01T00:00:00.000Z"'],
    [new Date(NaN), 'null'],
    [new URL('https://example.org/a'), '"https://example.org/a"'],
    [new String('boxed'), '"boxed"'],
    [new Number(1), '1'],
    [
      new Map([
        ['2', 'b'],
        ['1', 'a'],
      ]),
      '{"2": "b", "1": "a"}',
    ],
    [new Set([1, 'a']), '[1, "a"]'],
    [vm.runInNewContext('({ a: [1, { b: 2 }] })'), '{"a": [1, {"b": 2}]}'],
    [new Proxy({ a: 1 }, {}), '{"a": 1}'],
    [new Proxy([1, 2], {}), '[1, 2]'],
    // An unpaired surrogate becomes U+FFFD, as in every text passed from JavaScript.
    ['a\ud800b', '"a\\ufffdb"'],
    [{ 'k\udc00': 1 }, '{"k\\ufffd": 1}'],
    [{ '\ud800': 1, '\udc00': 2 }, '{"\\ufffd": 2}'],
  ];
  // `tojson` escapes for HTML and keeps other characters; JSON that escapes them is the same value.
  for (const [value, expected] of cases) {
    const escaped = text(value).replace(
      /[\u0080-\uffff]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
    assert.equal(escaped, expected);
  }
});

test('unsupported values are rejected with their path', () => {
  const deep = (levels) => (levels === 0 ? 1 : [deep(levels - 1)]);
  const cycle = {};
  cycle.self = cycle;
  const endless = { toJSON: () => Object.create(endless) };
  Object.setPrototypeOf(endless, { toJSON: () => new Point(endless) });
  const cases = [
    [() => 1, 'variables.v is a function (pass functions that templates call as `tools`)'],
    [
      { a: [{}, { b: Symbol('x') }] },
      'variables.v.a[1].b is a symbol (give its description as text)',
    ],
    [
      { 'a b': NaN },
      'variables.v["a b"] is NaN, which JSON cannot represent (omit it, or pass it as text)',
    ],
    [
      [Infinity],
      'variables.v[0] is Infinity, which JSON cannot represent (omit it, or pass it as text)',
    ],
    [
      float(NaN),
      'variables.v is NaN, which JSON cannot represent (omit it, or pass it as text)',
    ],
    [
      2n ** 63n,
      'variables.v is 9223372036854775808n, which does not fit 64 bits (pass it as text: String(value))',
    ],
    [
      Buffer.from('x'),
      'variables.v is a Buffer (decode it to text: new TextDecoder().decode(bytes))',
    ],
    [
      new ArrayBuffer(1),
      'variables.v is a ArrayBuffer (decode it to text: new TextDecoder().decode(bytes))',
    ],
    [Promise.resolve(1), 'variables.v is a promise (await it first)'],
    [
      new Map([[1, 2]]),
      'variables.v is a Map with a key that is not a string (give strings as keys)',
    ],
  ];
  for (const [value, message] of cases) {
    assert.throws(
      () => text(value),
      (error) => {
        assert.ok(error instanceof QuilletError);
        assert.equal(error.message, message);
        assert.equal(error.code, 'value.kind');
        return true;
      },
    );
  }
  for (const value of [cycle, deep(128)]) {
    assert.throws(() => text(value), /is nested deeper than 128 levels \(it may contain itself\)/);
  }
  assert.equal(text(deep(126)).length, 2 * 126 + 1);
});

test('an object with very many references is rejected', () => {
  let value = ['x'];
  for (let level = 0; level < 40; level++) value = [value, value];
  assert.throws(() => text(value), { code: 'value.size' });
});

test('variables must be an object', () => {
  for (const [variables, kind] of [
    [null, 'null'],
    [[], 'a list'],
    ['x', 'of type string'],
    [1, 'of type number'],
  ]) {
    assert.throws(() => show.render(variables), {
      message: `the variables must be an object, not ${kind} (give { name: value })`,
    });
  }
  assert.equal(new Template('[{{ v }}]').render(), '[]');
});

test('exceptions of getters, proxies and toJSON are passed on', () => {
  const thrown = new Error('mine');
  const fail = () => {
    throw thrown;
  };
  const values = [
    {
      get a() {
        return fail();
      },
    },
    new Proxy({}, { ownKeys: fail }),
    new Proxy({}, { getPrototypeOf: fail }),
    new Proxy({ a: 1 }, { get: fail }),
    Object.create({ toJSON: fail }),
    new Proxy([], { get: fail }),
    [
      1,
      {
        get a() {
          return fail();
        },
      },
    ],
  ];
  for (const value of values) {
    assert.equal(text('before'), '"before"');
    assert.throws(
      () => text(value),
      (error) => error === thrown,
    );
    assert.equal(text('before'), '"before"');
  }
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  assert.throws(() => text(revoked.proxy), TypeError);
});

test('a getter may render, the same template too', () => {
  const inner = {
    get b() {
      return text([1, { c: 'inner' }]);
    },
  };
  assert.equal(
    text({ a: 'é', inner, z: 'last' }),
    '{"a": "é", "inner": {"b": "[1, {\\"c\\": \\"inner\\"}]"}, "z": "last"}',
  );
  assert.equal(
    text({ a: 'é', inner, z: 'last' }),
    '{"a": "é", "inner": {"b": "[1, {\\"c\\": \\"inner\\"}]"}, "z": "last"}',
  );
});

test('changed and unchanged values are distinguished', () => {
  const random = generator(7);
  const leaf = () =>
    pick(random, ['a', 'b', '', 'é', 0, 1, 2.5, true, null, float(1), 1n, 300_000_000]);
  const make = (depth) => {
    const kind = depth === 0 ? 0 : Math.floor(random() * 4);
    if (kind < 2) return leaf();
    const length = Math.floor(random() * 4);
    if (kind === 2) return Array.from({ length }, () => make(depth - 1));
    return Object.fromEntries(
      Array.from({ length }, () => [pick(random, ['a', 'b', 'c', 'd']), make(depth - 1)]),
    );
  };
  const change = (value, depth) => {
    if (value === null || typeof value !== 'object' || value.value !== undefined || random() < 0.1)
      return make(depth);
    const keys = Object.keys(value);
    if (Array.isArray(value) && random() < 0.2)
      value.splice(Math.floor(random() * (value.length + 1)), 0, make(1));
    else if (keys.length === 0) value[Array.isArray(value) ? 0 : 'a'] = leaf();
    else {
      const key = pick(random, keys);
      value[key] = change(value[key], depth - 1);
    }
    return value;
  };
  // `fresh` has never rendered, so its cache is empty.
  let value = make(4);
  for (let turn = 0; turn < 3000; turn++) {
    const fresh = new Template('{{ v|tojson }}');
    assert.equal(text(value), fresh.render({ v: value }));
    if (random() < 0.5) value = change(value, 4);
    if (turn % 50 === 0) value = make(4);
  }
});

test('a getter with changing values is read each time', () => {
  const random = generator(3);
  const makers = [
    () => 'a',
    () => 'bb',
    () => [{ a: 1 }, { a: 'x' }],
    () => [{ a: 1 }],
    () => ({ b: [] }),
    () => 7,
  ];
  const value = {
    first: { a: 1 },
    get moody() {
      return pick(random, makers)();
    },
    list: [{ a: 1 }, { a: 'x' }, { a: 'x', b: [1] }],
    last: 0,
  };
  const tail = '"list": [{"a": 1}, {"a": "x"}, {"a": "x", "b": [1]}], "last": ';
  for (let turn = 0; turn < 2000; turn++) {
    value.last = turn % 3;
    const printed = text(value);
    assert.ok(printed.startsWith('{"first": {"a": 1}, "moody": '), printed);
    assert.ok(printed.endsWith(`, ${tail}${turn % 3}}`), printed);
  }
});

test('objects with very many shapes and keys are accepted', () => {
  for (let round = 0; round < 3; round++) {
    const kinds = Array.from({ length: 3000 }, (_, index) => ({
      [`key${round}-${index}`]: index,
      same: 1,
    }));
    assert.equal(text(kinds), JSON.stringify(kinds).replace(/([:,])/g, '$1 '));
    const wide = Object.fromEntries(
      Array.from({ length: 1000 }, (_, index) => [`k${index}`, index]),
    );
    assert.equal(text([wide, wide]), JSON.stringify([wide, wide]).replace(/([:,])/g, '$1 '));
  }
});

test('inherited fields are not variables', () => {
  Object.defineProperty(Object.prototype, 'polluted', {
    value: 'yes',
    enumerable: true,
    configurable: true,
  });
  try {
    assert.equal(text({ a: 1 }), '{"a": 1}');
    assert.equal(new Template('[{{ polluted }}]').render({ v: 1 }), '[]');
  } finally {
    delete Object.prototype.polluted;
  }
});

test('large texts are accepted', () => {
  for (const long of ['x'.repeat(3_000_000), 'é'.repeat(1_000_000), '😀'.repeat(500_000)]) {
    assert.equal(new Template('{{ v }}').render({ v: long }), long);
  }
});

function generator(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function pick(random, list) {
  return list[Math.floor(random() * list.length)];
}
