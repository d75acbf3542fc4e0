// `fetch`, limited to the features that scripts use: bodies are complete and not streamed.
'use strict';

const { fromBase64, toBase64, encode, decode } = require('internal/encoding');

class Headers {
  #fields = new Map();
  constructor(init) {
    if (init === undefined || init === null) return;
    const pairs = typeof init[Symbol.iterator] === 'function' ? init : Object.entries(init);
    for (const [name, value] of pairs) this.append(name, value);
  }
  append(name, value) {
    const before = this.get(name);
    this.set(name, before === null ? value : `${before}, ${value}`);
  }
  set(name, value) { this.#fields.set(String(name).toLowerCase(), String(value).trim()); }
  get(name) { return this.#fields.get(String(name).toLowerCase()) ?? null; }
  has(name) { return this.#fields.has(String(name).toLowerCase()); }
  delete(name) { this.#fields.delete(String(name).toLowerCase()); }
  forEach(callback, self) { for (const [name, value] of this) Reflect.apply(callback, self, [value, name, this]); }
  entries() { return [...this.#fields].sort(([a], [b]) => (a < b ? -1 : 1))[Symbol.iterator](); }
  keys() { return [...this.entries()].map(([name]) => name)[Symbol.iterator](); }
  values() { return [...this.entries()].map(([, value]) => value)[Symbol.iterator](); }
  [Symbol.iterator]() { return this.entries(); }
}

class Response {
  #text;
  #base64;
  constructor({ status, url, headers, text, base64 }) {
    this.status = status;
    this.ok = status >= 200 && status < 300;
    this.url = url;
    this.headers = new Headers(headers);
    this.bodyUsed = false;
    this.#text = text;
    this.#base64 = base64;
  }
  #take() {
    if (this.bodyUsed) throw new TypeError('the body of this answer was read already');
    this.bodyUsed = true;
  }
  async bytes() {
    this.#take();
    return this.#text === undefined ? Uint8Array.from(fromBase64(this.#base64)) : encode(this.#text);
  }
  async arrayBuffer() { return (await this.bytes()).buffer; }
  async text() {
    this.#take();
    return this.#text ?? decode(Uint8Array.from(fromBase64(this.#base64)));
  }
  async json() { return JSON.parse(await this.text()); }
}

const bytesOf = (body) => {
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  return encode(String(body));
};

const fetch = async (address, options = {}) => {
  const headers = new Headers(options.headers);
  let { body } = options;
  if (body !== undefined && body !== null) {
    if (body instanceof URLSearchParams && !headers.has('content-type')) {
      headers.set('content-type', 'application/x-www-form-urlencoded;charset=UTF-8');
    } else if (typeof body === 'string' && !headers.has('content-type')) {
      headers.set('content-type', 'text/plain;charset=UTF-8');
    }
    body = toBase64(bytesOf(body));
  }
  options.signal?.throwIfAborted();
  const given = {
    url: String(address), method: String(options.method ?? 'GET'), headers: Object.fromEntries(headers),
    encoding: 'base64', body: body ?? null,
  };
  return new Response(await internal.call('$fetch', [given]));
};

module.exports = { fetch, Headers, Response };
