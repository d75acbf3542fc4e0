// Makes random Handlebars templates, renders each with handlebars.js and with
// the program that is given, and prints the differences and a count.
// An error in both counts as the same, whatever its text.
'use strict';
const { spawnSync } = require('child_process');
const Handlebars = require('handlebars');

const [program, count, seed] = process.argv.slice(2);

let state = Number(seed) >>> 0;
/** A number from 0 up to, not including, n. */
function below(n) {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 4294967296) * n);
}
const pick = (list) => list[below(list.length)];
const chance = (percent) => below(100) < percent;
const some = (most, make) => Array.from({ length: below(most + 1) }, make);

const DATA = {
  name: 'Ann', n: 3, f: 1.5, zero: 0, yes: true, no: false, nul: null, empty: '',
  html: '<b>"x" & \'y\'=`</b>', 'a key': 'K', this_: 'T', k: 'x', p: 'p1', one: 'x',
  list: ['a', 'b', 'c'], elist: [], nums: [0, 1, 2], mixed: [null, false, '', 0, 'z', [], {}],
  obj: { x: 1, y: 'two', z: { w: 'deep', name: 'Z' } }, eobj: {},
  people: [{ name: 'Bob', tags: ['p', 'q'], kids: [{ name: 'Al' }] }, { name: 'Cy', tags: [], kids: null }],
  nested: [[1, 2], [3], []], big: 12345678901, neg: -2.5,
};

const PARTIALS = {
  p1: '[{{name}}]',
  p2: 'one\n{{n}}\n{{#if a}}\n  {{a}}\n{{/if}}\n',
  blk: '({{> @partial-block}}:{{a}})',
  outer: '  {{> p2}}\n{{#each list}}{{> p1}}{{@index}}{{/each}}',
  slot: '{{#> head}}no head{{/head}}/{{> @partial-block name="in"}}',
  up: '{{../name}}{{@root.name}}{{@key}}{{this}}',
  rec: '{{name}}{{#each kids}}({{> rec}}){{/each}}',
};

const SEGMENTS = ['name', 'n', 'obj', 'x', 'z', 'w', 'list', 'length', 'tags', 'missing', 'yes', 'no',
  'nul', 'empty', 'zero', '[a key]', '[0]', '[1]', 'people', 'kids', 'this_', 'a', 'constructor'];
const NAMES = ['name', 'n', 'f', 'zero', 'yes', 'no', 'nul', 'empty', 'html', 'list', 'elist', 'obj', 'eobj',
  'people', 'nested', 'missing', 'mixed', 'nums', 'k', 'item', 'i', 'a', 'big', 'neg'];
const DATA_NAMES = ['@index', '@key', '@first', '@last', '@root', '@root.name', '@root.obj.x', '@../index',
  '@../key', '@missing', '@root.list.[0]'];

function path() {
  const prefix = pick(['', '', '', '', '', 'this.', './', '../', '../../', 'this/']);
  const parts = [pick(NAMES), ...some(2, () => pick(SEGMENTS))];
  return chance(12) ? pick(['this', '.', '..', '../.', '../this']) : chance(18) ? pick(DATA_NAMES) : prefix + parts.join(pick(['.', '.', '/']));
}

function literal() {
  return pick(["'s'", '"q"', "'it\\'s'", '1', '0', '-2.5', 'true', 'false', 'null', 'undefined', '"x"', "''"]);
}

function argument(depth) {
  if (depth < 2 && chance(15)) {
    return pick([
      () => `(concat ${some(3, () => argument(depth + 1)).join(' ')})`,
      () => `(list ${some(3, () => argument(depth + 1)).join(' ')})`,
      () => `(lookup ${argument(depth + 1)} ${argument(depth + 1)})`,
    ])();
  }
  return chance(20) ? literal() : path();
}

const space = () => pick(['', '', '', ' ', '\n', '  \n', '\n  ', ' \n\n', '\t', '\r\n']);
const tilde = () => (chance(10) ? '~' : '');
const text = () => space() + pick(['', 'a', 'b c', 'x', '.', '} .', '. {.', '\\\\', '\\', '<i>']) + space();

function tag(inside, open = '{{', close = '}}') {
  return open + tilde() + inside + pick(['', '', ' ', '\n']) + tilde() + close;
}

function print() {
  return pick([
    () => tag(path()),
    () => tag(path()),
    () => tag(path()),
    () => '{{{' + path() + '}}}',
    () => tag('&' + path()),
    () => tag('concat ' + some(3, () => argument(0)).join(' ')),
    () => tag('lookup ' + argument(0) + ' ' + argument(0)),
    () => tag('! comment ', '{{', '}}'),
    () => '{{!-- a }} b --}}',
    () => tag(literal()),
    () => '\\{{name}}',
    () => '\\\\{{name}}',
    () => tag('log ' + argument(0)),
  ])();
}

const body = (depth) => (chance(15) ? '' : text()) + some(3, () => piece(depth) + text()).join('');

function otherwise(depth, inverted) {
  if (chance(55)) return '';
  let all = '';
  if (!inverted) {
    for (const _ of some(2, () => 0)) {
      all += tag('else ' + pick(['if', 'unless', 'with', 'each']) + ' ' + argument(0)) + body(depth + 1);
    }
  }
  return all + (chance(75) ? tag(pick(['else', '^'])) + body(depth + 1) : '');
}

function block(depth) {
  const params = () => (chance(25) ? pick([' as |item|', ' as |item i|', ' as |a|']) : '');
  const kinds = [
    ['if', () => ' ' + argument(0) + (chance(10) ? ' includeZero=true' : '')],
    ['unless', () => ' ' + argument(0)],
    ['each', () => ' ' + argument(0) + params()],
    ['each', () => ' ' + pick(['list', 'people', 'obj', 'nested', 'mixed', 'nums']) + params()],
    ['with', () => ' ' + argument(0) + params()],
    ['with', () => ' ' + pick(['obj', 'obj.z', 'people.[0]', 'list']) + params()],
    ['wrap', () => ''],
    [pick(NAMES), () => ''],
    [pick(['../', 'this.']) + pick(NAMES), () => ''],
  ];
  const [name, rest] = pick(kinds);
  const inverted = chance(12);
  return tag((inverted ? '^' : '#') + name + rest()) + body(depth + 1) + otherwise(depth, inverted) + tag('/' + name);
}

function partial(depth) {
  const name = pick([...Object.keys(PARTIALS), '(lookup . "p")', 'p1', 'p2', 'outer', chance(20) ? 'nope' : 'in1', "'p2'"]);
  const context = chance(30) ? ' ' + argument(0) : '';
  const hash = chance(30) ? ' a=' + argument(0) + (chance(30) ? ' name=' + argument(0) : '') : '';
  if (chance(30) && !name.startsWith('(')) {
    const close = name.replace(/'/g, '');
    return tag('#> ' + name + context + hash) + body(depth + 1) + tag('/' + close);
  }
  return tag('> ' + name + context + hash);
}

function piece(depth) {
  const kind = below(depth > 3 ? 60 : 100);
  if (kind < 55) return print();
  if (kind < 65) return partial(depth);
  if (kind < 70) return tag(`#*inline "${pick(['in1', 'p1', 'head'])}"`) + body(depth + 1) + tag('/inline');
  if (kind < 72) return '{{{{wrap}}}}' + pick([' {{name}} ', '\n{{#if}}\n', 'x']) + '{{{{/wrap}}}}';
  return block(depth);
}

/** A template, now and then with a piece cut out, put in or doubled. */
function template() {
  let made = body(0) + body(0);
  if (chance(8)) {
    const at = below(made.length + 1);
    made = made.slice(0, at) + pick(['', '}', '{', '}}', '{{', '~', '"', '/', '.', '#', ' ']) + made.slice(at + below(3));
  }
  return made;
}

const asText = (value) => (value == null ? '' : String(value));
const helpers = {
  concat: (...args) => args.slice(0, -1).map(asText).join(''),
  list: (...args) => args.slice(0, -1),
  wrap(options) {
    return '<' + (options.fn ? options.fn(this) : '') + '|' + (options.inverse ? options.inverse(this) : '') + '>';
  },
};

function reference(line) {
  const handlebars = Handlebars.create();
  handlebars.log = () => {};
  handlebars.registerHelper(helpers);
  handlebars.registerPartial(line.partials);
  // With noEscape handlebars.js adds numbers that stand side by side.
  if (!line.escape) handlebars.Utils.escapeExpression = asText;
  try {
    const compiled = handlebars.compile(line.template, { strict: line.strict });
    const environment = { ...handlebars };
    return { text: compiled(line.data, environment) };
  } catch (error) {
    return { error: String(error.message).slice(0, 300) };
  }
}

/** Where JavaScript itself fails: handlebars.js did not mean to say anything. */
const crashes = (message) => /^Cannot (read properties|use 'in' operator)|is not a function$/.test(message);

const escapeExpression = Handlebars.Utils.escapeExpression;
Handlebars.logger.log = () => {};
let seen = 0;
let errors = 0;
let different = 0;
const reasons = {};
const BATCH = 2000;
while (seen < Number(count)) {
  const lines = Array.from({ length: Math.min(BATCH, count - seen) }, () => ({
    template: template(), partials: PARTIALS, data: DATA, escape: chance(30), strict: chance(10),
  }));
  const input = lines.map((line) => JSON.stringify(line)).join('\n') + '\n';
  const run = spawnSync(program, { input, maxBuffer: 1 << 30, encoding: 'utf8' });
  const answers = run.stdout.trimEnd().split('\n').map((line) => JSON.parse(line));
  lines.forEach((line, index) => {
    Handlebars.Utils.escapeExpression = escapeExpression;
    const theirs = reference(line);
    const ours = answers[index];
    seen += 1;
    errors += 'error' in theirs ? 1 : 0;
    if (process.env.REASONS && theirs.error) {
      const reason = theirs.error.split('\n').pop().slice(0, 60);
      reasons[reason] = (reasons[reason] || 0) + 1;
    }
    const same = 'error' in theirs ? 'error' in ours || crashes(theirs.error) : theirs.text === ours.text;
    if (same) return;
    different += 1;
    if (different <= Number(process.env.SHOW || 20)) {
      console.log(JSON.stringify(line.template), line.strict ? 'strict' : '', line.escape ? 'escape' : '');
      console.log('  handlebars.js ', JSON.stringify(theirs));
      console.log('  quillet       ', JSON.stringify(ours));
    }
  });
}
const share = ((100 * (seen - different)) / seen).toFixed(2);
console.log(`${seen} templates, ${errors} of them errors in handlebars.js ${Handlebars.VERSION}: ${share} % the same, ${different} differ`);
if (process.env.REASONS) console.log(Object.entries(reasons).sort((a, b) => b[1] - a[1]).slice(0, 30));
