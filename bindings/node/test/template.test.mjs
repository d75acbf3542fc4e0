// Compilation, its options, and inspection without rendering.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { check, convert, formats, QuilletError, Template } from 'quillet';

const fields = ({ code, line, column, source, hint }) => ({ code, line, column, source, hint });

function failure(work) {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof QuilletError, String(error));
    assert.ok(error instanceof Error);
    assert.equal(error.name, 'QuilletError');
    return error;
  }
  return assert.fail('nothing was thrown');
}

test('errors have code, location and hint', () => {
  const cases = [
    [
      () => new Template('a\n{% if x %}'),
      {
        code: 'template.syntax',
        line: 2,
        column: 11,
        source: 'template',
        hint: 'close the block with {% endif %}',
      },
    ],
    [
      () => new Template('{{ nme }}', { missing: 'strict', name: 'greet' }).render({ name: 'Ada' }),
      { code: 'render.missing_variable', line: 1, column: 4, source: 'greet' },
    ],
    [
      () => new Template("{% include 'p' %}", { partials: { p: '{% for x in %}' } }),
      { code: 'template.syntax', line: 1, column: 13, source: 'p' },
    ],
    [
      () =>
        new Template('{% for a in range(100000) %}{{ a }}{% endfor %}', {
          limits: { steps: 10 },
        }).render(),
      { code: 'render.limit', line: 1, source: 'template' },
    ],
  ];
  for (const [work, expected] of cases) {
    const found = fields(failure(work));
    for (const [field, value] of Object.entries(expected)) assert.equal(found[field], value, field);
  }
});

test('all diagnostics are returned', () => {
  const error = failure(() => new Template('{{if}}', { format: 'go' }));
  assert.ok(error.findings.length === 1);
  assert.deepEqual(check('{{if}}', { format: 'go' }), error.findings);
  assert.deepEqual(check('{{ fine }}'), []);
});

test('a missing partial is reported', () => {
  const [found] = check("{% include 'rule' %}", { partials: { rules: 'x' } });
  assert.equal(found.hint, 'did you mean rules?');
});

test('invalid options are rejected', () => {
  const cases = [
    [() => new Template(), 'the template must be a string, not of type undefined (give a string)'],
    [
      () => new Template(Buffer.from('x')),
      'the template must be a string, not of type object (give a string)',
    ],
    [() => new Template('x', 1), 'options must be an object, not of type number'],
    [() => new Template('x', { fromat: 'go' }), 'options has no fromat'],
    [
      () => new Template('x', { format: 1 }),
      'format must be a string, not of type number (give a string)',
    ],
    [
      () => new Template('x', { missing: 'strickt' }),
      'invalid value of missing: "strickt" (one of default, strict, zero, empty)',
    ],
    [
      () => new Template('x', { partials: { a: 1 } }),
      'partials.a must be a string, not of type number (give a string)',
    ],
    [
      () => new Template('x', { partials: null }),
      'partials must be an object (give { name: text })',
    ],
    [
      () => new Template('x', { limits: { steps: -1 } }),
      'limits.steps must be 0 or a positive number (omit it for the default)',
    ],
    [
      () => new Template('x', { limits: { steps: '1' } }),
      'limits.steps must be 0 or a positive number (omit it for the default)',
    ],
    [
      () => new Template('x', { limits: { timeMs: NaN } }),
      'limits.timeMs must be 0 or a positive number (omit it for the default)',
    ],
    [() => new Template('x', { trusted: 'a' }), "trusted must be a list of names (give ['name'])"],
    [() => convert('x'), 'from must be a string, not of type undefined (give a string)'],
  ];
  for (const [work, message] of cases) {
    const error = failure(work);
    assert.ok(error.message.startsWith(message), error.message);
    assert.match(error.code, /^option\./);
  }
});

test('an unknown format is reported with a suggestion', () => {
  const error = failure(() => new Template('x', { format: 'jinja3' }));
  assert.equal(error.code, 'template.format');
  assert.match(error.message, /jinja/);
});

test('limits of any size are accepted', () => {
  const limits = { timeMs: Infinity, steps: Number.MAX_VALUE, outputBytes: 2 ** 60 };
  assert.equal(new Template('{{ x }}', { limits }).render({ x: 1 }), '1');
});

test('texts with an unpaired surrogate compile', () => {
  assert.equal(new Template('a\ud800{{ x }}').render({ x: '\udc00' }), 'a\ufffd\ufffd');
  const partials = { 'p\ud800': '\udc00' };
  assert.equal(new Template('x', { partials, trusted: ['\ud800'] }).render(), 'x');
});

test('variables and functions of a template', () => {
  const template = new Template('{{ b.c }}{{ a }}{{ f(b) }}{{ g() }}{% set d = 1 %}{{ d }}');
  assert.deepEqual(template.variables, ['b', 'a']);
  assert.deepEqual(template.functions, ['f', 'g']);
  assert.equal(template.format, 'jinja');
});

test('tools used as filters', () => {
  const template = new Template('{{ name|shout("!") }}', { filters: ['shout'] });
  const tools = { shout: (text, end) => text.toUpperCase() + end };
  assert.equal(template.render({ name: 'ada' }, { tools }), 'ADA!');
});

test('messages and segments', () => {
  const template = new Template('{{ a }}');
  assert.deepEqual(template.messages({ a: 'hi' }), [{ role: 'user', content: 'hi' }]);
  assert.deepEqual(template.messages({ a: ' ' }), []);
  const elements = new Template('<message role="system">{{ a }}</message>', {
    messages: 'elements',
  });
  assert.deepEqual(elements.messages({ a: '</message>' }), [
    { role: 'system', content: '</message>' },
  ]);
  const wrong = new Template('<message role="{{ r }}">x</message>', { messages: 'elements' });
  assert.throws(() => wrong.messages({ r: 'wizard' }), { name: 'QuilletError' });
});

test('formats and conversion', () => {
  const names = formats().map(({ name }) => name);
  assert.ok(names.includes('handlebars') && names.includes('f-string'));
  assert.ok(
    formats()
      .find(({ name }) => name === 'jinja')
      .aliases.includes('hf'),
  );
  const { text, notes } = convert('Hi {{ name }}', {
    from: 'jinja',
    to: 'handlebars',
    assumeText: true,
  });
  assert.equal(text, 'Hi {{name}}');
  assert.deepEqual(notes, []);
  const refused = failure(() => convert('{{ x|upper }}', { from: 'jinja', to: 'mustache' }));
  assert.equal(refused.line, 1);
});
