// Asks Node what its own modules answer, for the tests of our shims of them:
//   node scripts/node-answers.mjs > crates/script/tests/it/node_answers.json
// Each answer is the value's JSON, or its text where it is one, or `throws` and the error's code.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { inspect } = require('util');
const AsyncFunction = (async () => {}).constructor;

const paths = ['', '.', '..', '/', '//', 'a', '/a', 'a/', '/a/', './a', '../a', 'a/b', '/a/b/', 'a//b', '/a/../b',
  '../../a', 'a/../../b', '/../a', '.a', 'a.b', '.a.b', 'a.', 'a/.b', 'a.b/c', '/a.b/c.d/', '//a//b', 'a/..', 'a/.',
  './..', '日本/語.txt', 'a b/c d', '...', 'a/...', '/a/b/../../..', './../a/./b//c/..'];
const pathCases = [
  ...paths.flatMap((path) => ['basename', 'dirname', 'extname', 'normalize', 'isAbsolute', 'parse']
    .map((name) => `m.${name}(${JSON.stringify(path)})`)),
  ...paths.map((path) => `m.format(m.parse(${JSON.stringify(path)}))`),
  ...paths.map((path) => `m.join('x', ${JSON.stringify(path)}, '../y')`),
  ...paths.map((path) => `m.resolve('/base', ${JSON.stringify(path)})`),
  ...paths.map((path) => `m.relative('/base/x', m.resolve('/base', ${JSON.stringify(path)}))`),
  ...['.js', 'b.js', '', 'js', 'a/b.js'].map((suffix) => `m.basename('a/b.js', ${JSON.stringify(suffix)})`),
  "m.join()", "m.resolve('/')", "m.resolve('/a', '/b', '')", "m.relative('/a/b', '/a/b')", "m.relative('/a/b/c', '/d')",
  "m.format({dir: '/a', base: 'b'})", "m.format({root: '/', name: 'a', ext: 'b'})", "m.format({name: 'a', ext: '.b'})",
  "m.format({})", 'm.basename(1)', 'm.join(null)', 'm.sep + m.delimiter', 'm === m.posix', "m.toNamespacedPath('/a')",
];

const utilCases = [
  "m.format('%s %d %i %f %j %o %O %%', 'a', 1.5, '42.9', '1.25', {a: 1}, [1], {b: {c: 1}})",
  "m.format('%s', null, undefined, 1n, Symbol('a'))", "m.format('a', 'b', {c: 1})", "m.format(1, 2, '3')",
  "m.format('%s %s', 'one')", "m.format('%d', '0x10')", "m.format('%x', 1)", "m.format('%s', -0)", "m.format('%c', 'css')",
  "m.format('%s', [1, [2, [3]]])", "m.format('%s', {a: {b: 1}})", "m.format('%d', 5n)", "m.format('%i', 'abc')", "m.format()",
  ...["'a'", "'it\\'s'", "'\\n'", '1', '-0', 'null', 'undefined', '1n', "Symbol('s')", '[]', '{}', '[1, 2, 3]', "['a', 'b']",
    '{a: 1, b: [1, {c: 2}]}', '{a: {b: {c: {d: 1}}}}', '[[[[1]]]]', '[1, , 3]', '[, ,]', 'new Map([[1, {a: 2}]])',
    "new Set(['x', 1])", 'new Date(0)', '/a+/gi', '() => 1', 'function name() {}', 'class A {}', 'class B extends Array {}',
    "{'a-b': 1, [Symbol('k')]: 2}", 'Object.create(null)', 'new (class Foo { constructor() { this.x = 1 } })()',
    'new Uint8Array([1, 2])', '{get a() { return 1 }, set b(v) {}}', 'Array.from({length: 3}, () => undefined)',
    'new Number(1)', "new String('x')", "{a: 'x'.repeat(80)}", '[true, false, NaN, Infinity]',
    '(() => { const a = {n: 1}; a.self = a; return a })()', 'Promise', 'Math.max', 'async () => {}', 'new Map()', 'new Set()',
    '{a: [], b: {}, c: null, d: undefined}', "[{a: 1, b: 'two'}, {a: 2, b: 'three'}]", 'Buffer.from("hi")',
    "{alpha: 'aaaaaaaaaaaaaaaaaaaa', beta: 'bbbbbbbbbbbbbbbbbbbbbbbb', gamma: 'cccccccccccccccccccccc'}",
    "new Map([['k', new Set([1])]])", "['a'.repeat(40), 'b'.repeat(40)]",
  ].map((value) => `m.inspect(${value})`),
  'm.inspect({a: {b: {c: 1}}}, {depth: 0})', 'm.inspect({a: {b: {c: {d: 1}}}}, {depth: null})', 'm.inspect({b: 1, a: 2}, {sorted: true})',
  "m.promisify((a, done) => done(null, a + 1))(1)", "m.promisify((done) => done(new TypeError('x')))()",
  'm.isDeepStrictEqual({a: [1, {b: 2}]}, {a: [1, {b: 2}]})', "m.isDeepStrictEqual([1], ['1'])", 'm.isDeepStrictEqual(new Set([1]), new Set([2]))',
  'm.isDeepStrictEqual(new Map([[1, {a: 1}]]), new Map([[1, {a: 1}]]))', 'm.isDeepStrictEqual(NaN, NaN)', 'm.isDeepStrictEqual(0, -0)',
  'm.types.isDate(new Date())', 'm.types.isRegExp({})', 'm.types.isPromise(Promise.resolve())', 'm.types.isAsyncFunction(async () => {})',
  "m.stripVTControlCharacters('\\u001b[31mred\\u001b[0m')",
  "(() => { function A() {} function B() {} B.prototype.x = 1; m.inherits(A, B); return new A().x })()",
  "new m.TextDecoder().decode(new m.TextEncoder().encode('häß€😀'))", "new m.TextDecoder().decode(Uint8Array.from([0xff, 0x61, 0xe2, 0x82, 0x62]))",
];

const addresses = ['http://example.com', 'HTTP://User:Pa%20ss@EXAMPLE.com:80/a/../b?x=1#y', 'https://a.b:8443/p%20q r?s=t u#v w',
  'file:///a/b c.txt', 'file:/x', 'mailto:a@b.c', 'data:text/plain,hi', 'http://[::1]:3000/x', 'http://h/?', 'http://h/#',
  'http://h/a/./b/../c/', "http://h/?q='\"<>", 'ftp://h:21/', 'custom://h/p', 'custom:/p/../q', 'nothere', '', 'http://', 'http://h:99999/',
  'http://h o/', '  http://h/  ', 'http:\\\\h\\a', 'http://h/日本?語#語', 'http://h/%zz', 'http:h', 'ws://h:80/'];
const relatives = ['a', '/a', '../a', './a/b', '?q=1', '#h', '//o/p', 'https://x/y', '', '../../../a', 'a?b#c', '.', '..'];
const urlCases = [
  ...addresses.map((address) => `new m.URL(${JSON.stringify(address)}).href`),
  ...addresses.slice(0, 8).flatMap((address) => ['origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'hash']
    .map((part) => `new m.URL(${JSON.stringify(address)}).${part}`)),
  ...relatives.map((to) => `new m.URL(${JSON.stringify(to)}, 'http://h/x/y/z?a#b').href`),
  ...relatives.map((to) => `m.resolve('/one/two/three', ${JSON.stringify(to)})`),
  "(() => { const u = new m.URL('http://h/'); u.pathname = 'a b'; u.search = 'x=1'; u.hash = 'z'; u.port = '8080'; u.host = 'o:9'; u.protocol = 'https'; return u.href })()",
  "(() => { const u = new m.URL('http://h/?a=1&b=2'); u.searchParams.append('c', 'ä ö'); u.searchParams.delete('a'); return u.href })()",
  "new m.URLSearchParams('?a=1&b=2&a=3').getAll('a')", "new m.URLSearchParams({x: '1', y: 'a b&c'}).toString()",
  "[...new m.URLSearchParams([['a', '1'], ['b', '2']])]", "new m.URLSearchParams('a=%20+%2B&b').toString()", "new m.URLSearchParams('b=1&a=2').size",
  "(() => { const p = new m.URLSearchParams('b=1&a=2&b=3'); p.set('b', '9'); p.sort(); return String(p) })()",
  "new m.URLSearchParams('a=1').has('a', '2')", "m.URL.canParse('x:')", "m.URL.canParse('x')", "JSON.stringify({u: new m.URL('http://h')})",
  "m.fileURLToPath('file:///a/b%20c')", "m.fileURLToPath('http://h/')", "m.pathToFileURL('/a b/c#d').href",
  "m.parse('http://u:p@h:8/p?q=1#f').pathname", "m.parse('http://h/p?a=1&b=2', true).query.b", "m.format({protocol: 'http', host: 'h', pathname: '/p', query: {a: 1}})",
  "m.format({pathname: 'x', search: '?y'})",
];

const queryCases = ["m.parse('a=1&b=2&a=3')", "m.parse('a=%20b+c&d')", "m.parse('a:1;b:2', ';', ':')", "m.parse('%zz=1&%E4=2')", "m.parse('')",
  "m.stringify({a: 1, b: ['x', 'y'], c: true, d: null, e: undefined})", "m.stringify({'k k': 'ä&='})", "m.stringify({a: 1}, ';', ':')",
  "m.escape('a b&ä😀')", "m.unescape('a%20b')", "m.parse('a=1&a=2&a=3', null, null, {maxKeys: 2})", "m.stringify('x')", "m.parse('=x&y=')"];

const eventCases = [
  "(() => { const e = new m(), out = []; e.on('a', (x) => out.push(x)); e.once('a', () => out.push('o')); e.prependListener('a', () => out.push('p')); e.emit('a', 1); e.emit('a', 2); return [out, e.listenerCount('a'), e.emit('b')] })()",
  "(() => { const e = new m.EventEmitter(); const f = () => {}; e.on('x', f).off('x', f); return e.eventNames() })()",
  "new m().emit('error', new RangeError('r'))", "new m().emit('error', 'text')", "new m().on('a', 1)",
  "(async () => { const e = new m(); const p = m.once(e, 'go'); e.emit('go', 1, 2); return await p })()",
  "(() => { class A extends m { constructor() { super(); this.x = 1 } } const a = new A(); let n = 0; a.on('y', function () { n = this.x }); a.emit('y'); return [n, Object.keys(a).includes('on')] })()",
  "(() => { const e = new m(); e.on('a', () => e.removeAllListeners('a')); let n = 0; e.on('a', () => n++); e.emit('a'); return n })()",
];

const assertCases = ['m(1)', 'm(0)', 'm.ok(null)', "m.equal(1, '1')", "m.strictEqual(1, '1')", "m.strict.equal(1, '1')", 'm.deepEqual({a: 1}, {a: "1"})',
  'm.deepStrictEqual({a: 1}, {a: 1})', 'm.deepStrictEqual([1, 2], [1, 3])', "m.throws(() => { throw new TypeError('x') }, TypeError)", 'm.throws(() => {})',
  "m.throws(() => { throw new Error('abc') }, /abd/)", "m.throws(() => { throw new Error('abc') }, {message: 'abc'})", "m.rejects(async () => { throw new Error('x') }, /x/)",
  "m.match('abc', /b/)", "m.match('abc', /z/)", "m.fail('no')", 'm.notStrictEqual(1, 1)', 'm.notDeepStrictEqual([1], [2])', 'm.doesNotThrow(() => 1)', 'm.ifError(null)',
  "(() => { try { m.strictEqual(1, 2, 'words') } catch (e) { return [e.name, e.actual, e.expected, e.operator] } })()",
  "(() => { try { m.strictEqual(1, 2) } catch (e) { return e.message } })()"];

const bufferCases = ["m.Buffer.from('häß').toString('hex')", "m.Buffer.from('aGk=', 'base64').toString()", "m.Buffer.from('a').toString('base64')", "m.Buffer.from('ab').toString('base64')",
  "m.Buffer.from('??>', 'latin1').toString('base64url')", "m.Buffer.concat([m.Buffer.from('a'), m.Buffer.from('b')]).toString()", "JSON.stringify(m.Buffer.from([1, 2]))",
  "m.Buffer.byteLength('ä€')", "m.Buffer.from('616g', 'hex').length", "m.Buffer.alloc(3, 'ab').toString()", "m.Buffer.from('abc').slice(1).toString()", "m.Buffer.from('abc').indexOf('c')",
  "m.Buffer.from('a').equals(m.Buffer.from('a'))", "m.Buffer.compare(m.Buffer.from('a'), m.Buffer.from('b'))", "inspect(m.Buffer.from('abc'))", "m.Buffer.from('hi', 'utf16le').toString('hex')",
  "m.Buffer.isBuffer(new Uint8Array(1))", "m.Buffer.from([0xe4, 0x62]).toString()", "m.atob('aGk=')", "m.btoa('hi')", "m.atob('a')", "atob(btoa('xyz'))",
  "(() => { const b = m.Buffer.alloc(4); b.write('ab', 1); return [...b] })()", "structuredClone({a: [1, new Date(0)], m: new Map([[1, 2]])}).m.get(1)", "structuredClone(() => 1)",
  "(() => { const c = new AbortController(); const seen = []; c.signal.addEventListener('abort', (e) => seen.push(e.type)); c.abort(); return [seen, c.signal.aborted, c.signal.reason.name] })()"];

const answers = [];
for (const [name, cases] of [['path', pathCases], ['util', utilCases], ['url', urlCases], ['querystring', queryCases],
  ['events', eventCases], ['assert', assertCases], ['buffer', bufferCases]]) {
  for (const code of cases) {
    let answer;
    try {
      const value = await new AsyncFunction('m', 'inspect', `return await (${code})`)(require(name), inspect);
      answer = typeof value === 'string' ? value : JSON.stringify(value);
    } catch (error) {
      answer = `throws ${error.code ?? error.name}`;
    }
    if (answer === undefined) answer = null;
    answers.push([name, code, answer]);
  }
}
console.log(`[\n${answers.map((answer) => JSON.stringify(answer)).join(',\n')}\n]`);
