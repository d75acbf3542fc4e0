// Node's `querystring`.
'use strict';

const KEPT = /[A-Za-z0-9\-_.!~*'()]/;

const escape = (value) => {
  const text = typeof value === 'string' ? value : String(value);
  return Array.from(text, (char) => (KEPT.test(char) ? char : encodeURIComponent(char.toWellFormed()))).join('');
};

// Bytes that are not valid UTF-8 become U+FFFD instead of an exception.
const unescape = (text) => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text.replace(/(%[0-9A-Fa-f]{2})+/g, (codes) => {
      const bytes = codes.split('%').slice(1).map((code) => parseInt(code, 16));
      return new TextDecoder().decode(new Uint8Array(bytes));
    });
  }
};

const primitive = (value) => {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : '';
  return typeof value === 'bigint' || typeof value === 'boolean' ? String(value) : '';
};

const stringify = (object, separator = '&', equals = '=', options = {}) => {
  if (object === null || typeof object !== 'object') return '';
  const encode = options?.encodeURIComponent ?? module.exports.escape;
  const pair = (key, value) => `${encode(primitive(key))}${equals}${encode(primitive(value))}`;
  return Object.entries(object)
    .flatMap(([key, value]) => (Array.isArray(value) ? value.map((item) => pair(key, item)) : [pair(key, value)]))
    .join(separator);
};

const parse = (text, separator = '&', equals = '=', options = {}) => {
  const result = Object.create(null);
  if (typeof text !== 'string' || text === '') return result;
  const decode = options?.decodeURIComponent ?? module.exports.unescape;
  const most = options?.maxKeys ?? 1000;
  const parts = text.split(separator || '&').filter(Boolean);
  for (const part of most > 0 ? parts.slice(0, most) : parts) {
    const at = part.indexOf(equals || '=');
    const key = decode((at === -1 ? part : part.slice(0, at)).replaceAll('+', ' '));
    const value = at === -1 ? '' : decode(part.slice(at + (equals || '=').length).replaceAll('+', ' '));
    if (!(key in result)) result[key] = value;
    else if (Array.isArray(result[key])) result[key].push(value);
    else result[key] = [result[key], value];
  }
  return result;
};

module.exports = { parse, stringify, escape, unescape };
module.exports.decode = parse;
module.exports.encode = stringify;
