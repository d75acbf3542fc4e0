// Text encodings, as in the WHATWG standards and Node.
'use strict';

const bytesOf = (input) => {
  if (input === undefined) return new Uint8Array();
  if (ArrayBuffer.isView(input)) return new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
  return new Uint8Array(input);
};

const encode = (text) => {
  const whole = String(text).toWellFormed();
  const bytes = [];
  for (const char of whole) {
    const code = char.codePointAt(0);
    if (code < 0x80) bytes.push(code);
    else if (code < 0x800) bytes.push(0xc0 | (code >> 6), 0x80 | (code & 63));
    else if (code < 0x10000) bytes.push(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
    else bytes.push(0xf0 | (code >> 18), 0x80 | ((code >> 12) & 63), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
  }
  return Uint8Array.from(bytes);
};

// The number of bytes after a first byte, and the range of the second: no surrogates or overlong forms.
const shape = (first) => {
  if (first < 0x80) return [0, 0, 0];
  if (first >= 0xc2 && first <= 0xdf) return [1, 0x80, 0xbf];
  if (first === 0xe0) return [2, 0xa0, 0xbf];
  if (first === 0xed) return [2, 0x80, 0x9f];
  if (first >= 0xe1 && first <= 0xef) return [2, 0x80, 0xbf];
  if (first === 0xf0) return [3, 0x90, 0xbf];
  if (first >= 0xf1 && first <= 0xf3) return [3, 0x80, 0xbf];
  if (first === 0xf4) return [3, 0x80, 0x8f];
  return undefined;
};

// Each invalid sequence becomes one U+FFFD, up to its first invalid byte.
const decode = (bytes, fatal) => {
  const parts = [];
  let at = 0;
  while (at < bytes.length) {
    const first = bytes[at];
    const wanted = shape(first);
    let used = 1;
    let code = wanted === undefined ? -1 : first & [0x7f, 0x1f, 0x0f, 0x07][wanted[0]];
    for (let rest = wanted?.[0] ?? 0; rest > 0; rest -= 1) {
      const next = bytes[at + used];
      const [low, high] = used === 1 ? [wanted[1], wanted[2]] : [0x80, 0xbf];
      if (next === undefined || next < low || next > high) {
        code = -1;
        break;
      }
      code = (code << 6) | (next & 63);
      used += 1;
    }
    if (code < 0 && fatal) throw new TypeError('The encoded data was not valid for encoding utf-8');
    parts.push(code < 0 ? '\ufffd' : String.fromCodePoint(code));
    at += used;
  }
  return parts.join('');
};

class TextEncoder {
  get encoding() { return 'utf-8'; }
  encode(text = '') { return encode(text); }
  encodeInto(text, target) {
    const bytes = encode(text).subarray(0, target.length);
    target.set(bytes);
    return { read: decode(bytes).length, written: bytes.length };
  }
}

class TextDecoder {
  constructor(label = 'utf-8', options = {}) {
    const name = String(label).trim().toLowerCase();
    this.encoding = { utf8: 'utf-8', latin1: 'windows-1252', ascii: 'windows-1252', utf16le: 'utf-16le' }[name] ?? name;
    this.fatal = Boolean(options?.fatal);
    this.ignoreBOM = Boolean(options?.ignoreBOM);
    if (!['utf-8', 'windows-1252', 'utf-16le'].includes(this.encoding)) {
      throw new RangeError(`The "${label}" encoding is not supported`);
    }
  }
  decode(input) {
    const bytes = bytesOf(input);
    const text = this.encoding === 'utf-8' ? decode(bytes, this.fatal)
      : this.encoding === 'utf-16le' ? wide(bytes) : binary(bytes);
    return !this.ignoreBOM && text.startsWith('\ufeff') ? text.slice(1) : text;
  }
}

const binary = (bytes) => Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');

const wide = (bytes) => {
  const units = [];
  for (let at = 0; at + 1 < bytes.length; at += 2) units.push(String.fromCharCode(bytes[at] | (bytes[at + 1] << 8)));
  return units.join('');
};

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

const toBase64 = (bytes) => {
  const parts = [];
  for (let at = 0; at < bytes.length; at += 3) {
    const [a, b, c] = [bytes[at], bytes[at + 1], bytes[at + 2]];
    parts.push(DIGITS[a >> 2], DIGITS[((a & 3) << 4) | ((b ?? 0) >> 4)],
      b === undefined ? '=' : DIGITS[((b & 15) << 2) | ((c ?? 0) >> 6)], c === undefined ? '=' : DIGITS[c & 63]);
  }
  return parts.join('');
};

// Other characters than digits are skipped. `-` and `_` are the digits of URL-safe base64.
const fromBase64 = (text) => {
  const bytes = [];
  let held = 0;
  let bits = 0;
  for (const char of text) {
    if (char === '=') break;
    const digit = DIGITS.indexOf(char === '-' ? '+' : char === '_' ? '/' : char);
    if (digit === -1) continue;
    held = ((held << 6) | digit) & 0xffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes.push((held >> bits) & 255);
    }
  }
  return Uint8Array.from(bytes);
};

const wrong = (message) => new DOMException(message, 'InvalidCharacterError');

const btoa = (text) => {
  const codes = Array.from({ length: String(text).length }, (_, at) => String(text).charCodeAt(at));
  if (codes.some((code) => code > 255)) throw wrong('Invalid character');
  return toBase64(codes);
};

const atob = (text) => {
  const tight = String(text).replace(/[\t\n\f\r ]/g, '');
  const digits = tight.length % 4 === 0 ? tight.replace(/={1,2}$/, '') : tight;
  if (digits.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(digits)) throw wrong('The string to be decoded is not correctly encoded.');
  return binary(fromBase64(digits));
};

// Copies a value. An object that occurs twice is also shared in the copy.
const structuredClone = (value) => clone(value, new Map());

const clone = (value, seen) => {
  if (typeof value === 'function' || typeof value === 'symbol') {
    throw new DOMException(`${String(value)} could not be cloned.`, 'DataCloneError');
  }
  if (value === null || typeof value !== 'object') return value;
  if (seen.has(value)) return seen.get(value);
  const keep = (copy) => { seen.set(value, copy); return copy; };
  if (value instanceof Date) return keep(new Date(value));
  if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
  if (value instanceof ArrayBuffer) return keep(value.slice(0));
  if (ArrayBuffer.isView(value)) return keep(new value.constructor(value));
  if (value instanceof Map) {
    const copy = keep(new Map());
    for (const [key, item] of value) copy.set(clone(key, seen), clone(item, seen));
    return copy;
  }
  if (value instanceof Set) {
    const copy = keep(new Set());
    for (const item of value) copy.add(clone(item, seen));
    return copy;
  }
  if (value instanceof Error) {
    const copy = keep(new (globalThis[value.name] ?? Error)(value.message));
    copy.stack = value.stack;
    return copy;
  }
  const copy = keep(Array.isArray(value) ? [] : {});
  for (const key of Object.keys(value)) {
    Object.defineProperty(copy, key, { value: clone(value[key], seen), writable: true, enumerable: true, configurable: true });
  }
  if (Array.isArray(value)) copy.length = value.length;
  return copy;
};

module.exports = { TextEncoder, TextDecoder, atob, btoa, structuredClone, encode, decode, binary, wide, toBase64, fromBase64 };
