// Node's `Buffer`, for reading, writing and encoding texts and bytes.
'use strict';

const { encode, decode, binary, wide, toBase64, fromBase64, atob, btoa } = require('internal/encoding');

const nameOf = (encoding = 'utf8') => String(encoding).toLowerCase().replace('utf-', 'utf').replace('-', '');

const bytesOf = (text, encoding) => {
  switch (nameOf(encoding)) {
    case 'hex': return Uint8Array.from(/^(?:[0-9a-f]{2})*/i.exec(text)[0].match(/../g) ?? [], (pair) => parseInt(pair, 16));
    case 'base64': case 'base64url': return fromBase64(text);
    case 'latin1': case 'binary': case 'ascii': return Uint8Array.from(text, (char) => char.charCodeAt(0) & 255);
    case 'utf16le': case 'ucs2':
      return Uint8Array.from({ length: text.length * 2 }, (_, at) => (text.charCodeAt(at >> 1) >> (at & 1 ? 8 : 0)) & 255);
    case 'utf8': return encode(text);
    default: throw new TypeError(`Unknown encoding: ${encoding}`);
  }
};

class Buffer extends Uint8Array {
  static from(value, encoding, length) {
    if (typeof value === 'string') return make(bytesOf(value, encoding));
    if (value instanceof ArrayBuffer) return new Buffer(value, encoding, length);
    if (value?.type === 'Buffer' && Array.isArray(value.data)) return make(value.data);
    return make(value);
  }
  static alloc(size, fill, encoding) {
    const buffer = new Buffer(size);
    return fill === undefined ? buffer : buffer.fill(fill, 0, size, encoding);
  }
  static allocUnsafe(size) { return new Buffer(size); }
  static isBuffer(value) { return value instanceof Buffer; }
  static isEncoding(encoding) {
    return ['hex', 'base64', 'base64url', 'latin1', 'binary', 'ascii', 'utf16le', 'ucs2', 'utf8'].includes(nameOf(encoding));
  }
  static byteLength(value, encoding) { return typeof value === 'string' ? bytesOf(value, encoding).length : value.byteLength; }
  static concat(list, total = list.reduce((sum, item) => sum + item.length, 0)) {
    const whole = Buffer.alloc(total);
    let at = 0;
    for (const item of list) {
      const part = item.subarray(0, Math.max(total - at, 0));
      whole.set(part, at);
      at += part.length;
    }
    return whole;
  }
  static compare(a, b) {
    const at = a.findIndex((byte, index) => byte !== b[index]);
    if (at === -1) return Math.sign(a.length - b.length);
    return at >= b.length || a[at] > b[at] ? 1 : -1;
  }

  toString(encoding, start = 0, end = this.length) {
    const bytes = this.subarray(start, end);
    switch (nameOf(encoding)) {
      case 'hex': return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
      case 'base64': return toBase64(bytes);
      case 'base64url': return toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
      case 'latin1': case 'binary': return binary(bytes);
      case 'ascii': return binary(bytes.map((byte) => byte & 127));
      case 'utf16le': case 'ucs2': return wide(bytes);
      case 'utf8': return decode(bytes);
      default: throw new TypeError(`Unknown encoding: ${encoding}`);
    }
  }
  toJSON() { return { type: 'Buffer', data: Array.from(this) }; }
  equals(other) { return Buffer.compare(this, other) === 0; }
  compare(other) { return Buffer.compare(this, other); }
  slice(start, end) { return this.subarray(start, end); }
  write(text, at = 0, length = this.length - at, encoding = 'utf8') {
    const bytes = bytesOf(text, encoding).subarray(0, Math.min(length, this.length - at));
    this.set(bytes, at);
    return bytes.length;
  }
  copy(target, at = 0, start = 0, end = this.length) {
    const bytes = this.subarray(start, Math.min(end, start + target.length - at));
    target.set(bytes, at);
    return bytes.length;
  }
  fill(value, start = 0, end = this.length, encoding = 'utf8') {
    if (typeof value !== 'string') return super.fill(value, start, end);
    const bytes = bytesOf(value, encoding);
    for (let at = start; at < end && bytes.length > 0; at += 1) this[at] = bytes[(at - start) % bytes.length];
    return this;
  }
  indexOf(value, start = 0, encoding = 'utf8') {
    if (typeof value === 'number') return super.indexOf(value, start);
    const wanted = typeof value === 'string' ? bytesOf(value, encoding) : value;
    for (let at = start; at + wanted.length <= this.length; at += 1) {
      if (wanted.every((byte, index) => this[at + index] === byte)) return at;
    }
    return -1;
  }
  includes(value, start, encoding) { return this.indexOf(value, start, encoding) !== -1; }
  [Symbol.for('nodejs.util.inspect.custom')]() {
    const shown = Array.from(this.subarray(0, 50), (byte) => byte.toString(16).padStart(2, '0'));
    const more = this.length > 50 ? [`... ${this.length - 50} more byte${this.length > 51 ? 's' : ''}`] : [];
    return `<${['Buffer', ...shown, ...more].join(' ')}>`;
  }
}

const make = (values) => {
  const buffer = new Buffer(values.length);
  buffer.set(values);
  return buffer;
};

module.exports = { Buffer, atob, btoa, kMaxLength: 2 ** 31 - 1 };
