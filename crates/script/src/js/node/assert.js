// Node's `assert`, limited to the features that scripts use.
'use strict';

const { inspect, _alike: alike } = require('util');

class AssertionError extends Error {
  constructor({ message, actual, expected, operator }) {
    super(message ?? `${inspect(actual)} ${operator} ${inspect(expected)}`);
    this.name = 'AssertionError';
    this.code = 'ERR_ASSERTION';
    this.generatedMessage = message === undefined;
    Object.assign(this, { actual, expected, operator });
  }
}

const need = (holds, actual, expected, message, operator, words) => {
  if (holds) return;
  if (message instanceof Error) throw message;
  const found = words && message === undefined ? `${words}\n\n${inspect(actual)} !== ${inspect(expected)}\n` : message;
  throw new AssertionError({ message: found, actual, expected, operator });
};

const ok = (value, message) => {
  need(value, value, true, message ?? (value ? undefined : 'The expression evaluated to a falsy value'), '==');
};

const deep = (a, b, strict) => alike(a, b, strict, new Map());

const fits = (error, expected) => {
  if (expected === undefined) return true;
  if (expected instanceof RegExp) return expected.test(String(error));
  if (typeof expected === 'function') {
    if (expected.prototype !== undefined && error instanceof expected) return true;
    return !isType(expected) && expected(error) === true;
  }
  return Object.keys(expected).every((key) => (expected[key] instanceof RegExp && typeof error[key] === 'string'
    ? expected[key].test(error[key]) : deep(error[key], expected[key], true)));
};

const missing = (message, operator) => {
  throw new AssertionError({ message: message ?? `Missing expected ${operator === 'throws' ? 'exception' : 'rejection'}.`, operator });
};

const isType = (expected) => expected === Error || (typeof expected === 'function' && Error.isPrototypeOf(expected));

// An error of another class is rethrown. An error with other properties fails the assertion.
const check = (error, expected) => {
  if (fits(error, typeof expected === 'string' ? undefined : expected)) return;
  if (isType(expected)) throw error;
  throw new AssertionError({ message: 'The error does not have the expected form', actual: error, expected, operator: 'throws' });
};

const throws = (action, expected, message) => {
  try {
    action();
  } catch (error) {
    return check(error, expected);
  }
  return missing(typeof expected === 'string' ? expected : message, 'throws');
};

const rejects = async (action, expected, message) => {
  try {
    await (typeof action === 'function' ? action() : action);
  } catch (error) {
    return check(error, expected);
  }
  return missing(typeof expected === 'string' ? expected : message, 'rejects');
};

const strict = {
  strictEqual: (a, b, message) => need(Object.is(a, b), a, b, message, 'strictEqual', 'Expected values to be strictly equal:'),
  notStrictEqual: (a, b, message) => need(!Object.is(a, b), a, b, message, 'notStrictEqual', 'Expected "actual" to be strictly unequal to:'),
  deepStrictEqual: (a, b, message) => need(deep(a, b, true), a, b, message, 'deepStrictEqual', 'Expected values to be strictly deep-equal:'),
  notDeepStrictEqual: (a, b, message) => need(!deep(a, b, true), a, b, message, 'notDeepStrictEqual', 'Expected "actual" not to be strictly deep-equal to:'),
};

const loose = {
  equal: (a, b, message) => need(a == b || (a !== a && b !== b), a, b, message, '=='),
  notEqual: (a, b, message) => need(!(a == b || (a !== a && b !== b)), a, b, message, '!='),
  deepEqual: (a, b, message) => need(deep(a, b, false), a, b, message, 'deepEqual', 'Expected values to be loosely deep-equal:'),
  notDeepEqual: (a, b, message) => need(!deep(a, b, false), a, b, message, 'notDeepEqual', 'Expected "actual" not to be loosely deep-equal to:'),
};

const common = {
  ok, throws, rejects, AssertionError,
  fail: (message = 'Failed') => { throw message instanceof Error ? message : new AssertionError({ message, operator: 'fail' }); },
  doesNotThrow: (action) => { action(); },
  doesNotReject: async (action) => { await (typeof action === 'function' ? action() : action); },
  match: (text, pattern, message) => need(pattern.test(text), text, pattern, message, 'match'),
  doesNotMatch: (text, pattern, message) => need(!pattern.test(text), text, pattern, message, 'doesNotMatch'),
  ifError: (value) => { if (value !== null && value !== undefined) throw value; },
};

module.exports = Object.assign((value, message) => ok(value, message), common, strict, loose);
module.exports.strict = Object.assign((value, message) => ok(value, message), common, strict, {
  equal: strict.strictEqual, notEqual: strict.notStrictEqual, deepEqual: strict.deepStrictEqual, notDeepEqual: strict.notDeepStrictEqual,
});
