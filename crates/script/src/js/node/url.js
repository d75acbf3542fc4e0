// URLs: `URL` and `URLSearchParams` of the WHATWG, and the additions of Node's `url`. Host names are
// not converted (no punycode), and the path of a URL without `//` is not changed.
'use strict';

const { encode } = require('internal/encoding');

const PORTS = { 'http:': '80', 'https:': '443', 'ws:': '80', 'wss:': '443', 'ftp:': '21', 'file:': '' };
const isSpecial = (protocol) => Object.hasOwn(PORTS, protocol);

// Characters to escape in each part, besides control characters and non-ASCII characters.
const QUERY = ' "#<>';
const PATH = QUERY + '?`{}^';
const USER = PATH + '/:;=@[\\]|';

const escape = (text, set) => Array.from(text.toWellFormed(), (char) => {
  const code = char.codePointAt(0);
  if (code > 0x1f && code < 0x7f && !set.includes(char)) return char;
  return Array.from(encode(char), (byte) => '%' + byte.toString(16).toUpperCase().padStart(2, '0')).join('');
}).join('');

const invalid = (input, base) => {
  const error = new TypeError('Invalid URL');
  error.code = 'ERR_INVALID_URL';
  error.input = input;
  if (base !== undefined) error.base = base;
  return error;
};

const normalPath = (path, special) => {
  const kept = [];
  const parts = (special ? path.replaceAll('\\', '/') : path).split('/').slice(1);
  parts.forEach((part, index) => {
    const last = index === parts.length - 1;
    const plain = part.replaceAll(/%2e/gi, '.');
    if (plain === '..') {
      kept.pop();
      if (last) kept.push('');
    } else if (plain !== '.') kept.push(part);
    else if (last) kept.push('');
  });
  return '/' + kept.join('/');
};

const portOf = (text, protocol, fail) => {
  if (text === '') return '';
  if (!/^\d+$/.test(text) || Number(text) > 65535) throw fail();
  return String(Number(text)) === PORTS[protocol] ? '' : String(Number(text));
};

const hostOf = (text, special, fail) => {
  const decoded = special && !text.startsWith('[') ? decodeURIComponent(text).toLowerCase() : text;
  if (special && decoded === '') throw fail();
  if (/[\s#/<>?@\\^|]|:(?![^[]*\])/.test(decoded)) throw fail();
  return text.startsWith('[') ? text.toLowerCase() : decoded;
};

// Parses the text between `//` and the path: [user, password, host, port].
const authority = (text, protocol, fail) => {
  const at = text.lastIndexOf('@');
  const [user, ...rest] = at === -1 ? [''] : text.slice(0, at).split(':');
  const place = text.slice(at + 1);
  const colon = /:(\d*)$/.exec(place);
  const host = colon ? place.slice(0, colon.index) : place;
  if (protocol === 'file:') return ['', '', host === 'localhost' ? '' : host.toLowerCase(), ''];
  return [escape(user, USER), escape(rest.join(':'), USER), hostOf(host, isSpecial(protocol), fail), portOf(colon?.[1] ?? '', protocol, fail)];
};

const split = (text) => {
  const hashAt = text.indexOf('#');
  const hash = hashAt === -1 ? '' : text.slice(hashAt);
  const before = hashAt === -1 ? text : text.slice(0, hashAt);
  const queryAt = before.indexOf('?');
  return {
    hash: hash && '#' + escape(hash.slice(1), ' "<>`'),
    query: queryAt === -1 ? null : before.slice(queryAt + 1),
    rest: queryAt === -1 ? before : before.slice(0, queryAt),
  };
};

const read = (input, base) => {
  const fail = () => invalid(input, base?.href);
  const text = input.replace(/^[\0- ]+|[\0- ]+$/g, '').replace(/[\t\n\r]/g, '');
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(text);
  const protocol = scheme ? scheme[1].toLowerCase() + ':' : base?.protocol;
  if (protocol === undefined) throw fail();
  const special = isSpecial(protocol);
  const { hash, query, rest } = split(scheme ? text.slice(scheme[0].length) : text);
  const search = query === null ? '' : '?' + escape(query, special ? QUERY + "'" : QUERY);
  const path = special ? rest.replaceAll('\\', '/') : rest;
  const made = { protocol, username: '', password: '', hostname: '', port: '', hash, search, opaque: false };
  const isFull = scheme && (!special || !base || base.protocol !== protocol || /^\/\//.test(path));
  if (!scheme && base.opaque) {
    if (text !== '' && !text.startsWith('#')) throw fail();
    return { ...base, hash };
  }
  if (path.startsWith('//') || (isFull && special)) {
    const inner = protocol === 'file:' && !path.startsWith('//') ? path : path.replace(special && protocol !== 'file:' ? /^\/*/ : /^\/\//, '');
    const slash = inner.indexOf('/');
    const place = slash === -1 ? inner : inner.slice(0, slash);
    [made.username, made.password, made.hostname, made.port] = authority(place, protocol, fail);
    const after = slash === -1 ? '' : inner.slice(slash);
    made.pathname = after === '' && !special ? '' : normalPath(escape(after || '/', PATH), special);
    made.slashes = true;
    return made;
  }
  if (isFull) {
    made.opaque = !path.startsWith('/');
    made.pathname = made.opaque ? escape(path, '') : normalPath(escape(path, PATH), false);
    return made;
  }
  const { username, password, hostname, port, slashes } = base;
  Object.assign(made, { username, password, hostname, port, slashes });
  if (path === '') {
    made.pathname = base.pathname;
    if (query === null) made.search = base.search;
    return made;
  }
  const from = path.startsWith('/') ? path : base.pathname.slice(0, base.pathname.lastIndexOf('/') + 1) + path;
  made.pathname = normalPath(escape(from, PATH), special);
  return made;
};

const KEPT = /[A-Za-z0-9*\-._]/;
const formEncode = (text) => Array.from(String(text).toWellFormed(), (char) => {
  if (char === ' ') return '+';
  return KEPT.test(char) ? char : Array.from(encode(char), (byte) => '%' + byte.toString(16).toUpperCase().padStart(2, '0')).join('');
}).join('');
const { unescape } = require('querystring');
const formDecode = (text) => unescape(text.replaceAll('+', ' '));

class URLSearchParams {
  #pairs = [];
  #changed = () => {};

  constructor(init = '', changed) {
    if (typeof changed === 'function') this.#changed = changed;
    this.#fill(init);
  }
  #fill(init) {
    if (typeof init === 'object' && init !== null) {
      const pairs = typeof init[Symbol.iterator] === 'function' ? [...init] : Object.entries(init);
      if (pairs.some((pair) => Array.from(pair).length !== 2)) throw new TypeError('Each query pair must be an iterable [name, value] tuple');
      this.#pairs = pairs.map(([key, value]) => [String(key), String(value)]);
      return;
    }
    const parts = String(init).replace(/^\?/, '').split('&').filter(Boolean);
    this.#pairs = parts.map((part) => {
      const at = part.indexOf('=');
      return at === -1 ? [formDecode(part), ''] : [formDecode(part.slice(0, at)), formDecode(part.slice(at + 1))];
    });
  }
  #set(pairs) { this.#pairs = pairs; this.#changed(this.toString()); }

  get size() { return this.#pairs.length; }
  append(name, value) { this.#set([...this.#pairs, [String(name), String(value)]]); }
  delete(name, value) {
    this.#set(this.#pairs.filter(([key, item]) => key !== String(name) || (value !== undefined && item !== String(value))));
  }
  get(name) { return this.#pairs.find(([key]) => key === String(name))?.[1] ?? null; }
  getAll(name) { return this.#pairs.filter(([key]) => key === String(name)).map(([, value]) => value); }
  has(name, value) {
    return this.#pairs.some(([key, item]) => key === String(name) && (value === undefined || item === String(value)));
  }
  set(name, value) {
    const at = this.#pairs.findIndex(([key]) => key === String(name));
    const others = this.#pairs.filter(([key], index) => key !== String(name) || index === at);
    this.#set(at === -1 ? [...others, [String(name), String(value)]]
      : others.map((pair) => (pair[0] === String(name) ? [pair[0], String(value)] : pair)));
  }
  sort() { this.#set(this.#pairs.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))); }
  forEach(action, receiver) { for (const [key, value] of this.#pairs) Reflect.apply(action, receiver, [value, key, this]); }
  entries() { return this.#pairs.map((pair) => [...pair])[Symbol.iterator](); }
  keys() { return this.#pairs.map(([key]) => key)[Symbol.iterator](); }
  values() { return this.#pairs.map(([, value]) => value)[Symbol.iterator](); }
  [Symbol.iterator]() { return this.entries(); }
  toString() { return this.#pairs.map(([key, value]) => `${formEncode(key)}=${formEncode(value)}`).join('&'); }
  toJSON() { return this.toString(); }
}

class URL {
  #parts;
  #params;

  constructor(input, base) {
    const start = base === undefined ? undefined : read(String(base));
    this.#parts = read(String(input), start && { ...start, href: String(base) });
  }
  static canParse(input, base) {
    try { return new URL(input, base) !== undefined; } catch { return false; }
  }
  static parse(input, base) { return URL.canParse(input, base) ? new URL(input, base) : null; }

  // Parses the whole URL again with one part changed. An invalid part has no effect.
  #change(part, value) {
    try { this.#parts = read(write({ ...this.#parts, [part]: value })); } catch { return; }
    if (part === 'search') this.#params = undefined;
  }

  get href() { return write(this.#parts); }
  set href(value) { this.#parts = read(String(value)); this.#params = undefined; }
  get protocol() { return this.#parts.protocol; }
  set protocol(value) { this.#change('protocol', String(value).replace(/:.*$/, '') + ':'); }
  get username() { return this.#parts.username; }
  set username(value) { this.#change('username', escape(String(value), USER)); }
  get password() { return this.#parts.password; }
  set password(value) { this.#change('password', escape(String(value), USER)); }
  get hostname() { return this.#parts.hostname; }
  set hostname(value) { this.#change('hostname', String(value)); }
  get port() { return this.#parts.port; }
  set port(value) { this.#change('port', String(value)); }
  get host() { return this.#parts.hostname + (this.#parts.port && ':' + this.#parts.port); }
  set host(value) {
    const [, name, port] = /^(.*?)(?::(\d*))?$/.exec(String(value));
    this.#change('hostname', name);
    if (port !== undefined) this.#change('port', port);
  }
  get origin() {
    const { protocol } = this.#parts;
    return isSpecial(protocol) && protocol !== 'file:' ? `${protocol}//${this.host}` : 'null';
  }
  get pathname() { return this.#parts.pathname; }
  set pathname(value) {
    if (!this.#parts.opaque) this.#change('pathname', escape(String(value).replace(/^(?!\/)/, '/'), PATH));
  }
  get search() { return this.#parts.search === '?' ? '' : this.#parts.search; }
  set search(value) { this.#change('search', String(value) === '' ? '' : '?' + escape(String(value).replace(/^\?/, ''), QUERY + "'")); }
  get hash() { return this.#parts.hash === '#' ? '' : this.#parts.hash; }
  set hash(value) { this.#change('hash', String(value) === '' ? '' : '#' + String(value).replace(/^#/, '')); }
  get searchParams() {
    this.#params ??= new URLSearchParams(this.#parts.search, (text) => {
      this.#parts = { ...this.#parts, search: text && '?' + text };
    });
    return this.#params;
  }
  toString() { return this.href; }
  toJSON() { return this.href; }
}

const write = ({ protocol, username, password, hostname, port, pathname, search, hash, opaque, slashes }) => {
  const user = username || password ? `${username}${password && ':' + password}@` : '';
  const place = opaque || !slashes ? '' : `//${user}${hostname}${port && ':' + port}`;
  return `${protocol}${place}${pathname}${search}${hash}`;
};

const fileURLToPath = (url) => {
  const found = typeof url === 'string' ? new URL(url) : url;
  if (found.protocol !== 'file:') {
    const error = new TypeError('The URL must be of scheme file');
    error.code = 'ERR_INVALID_URL_SCHEME';
    throw error;
  }
  if (/%2f/i.test(found.pathname)) throw new TypeError('File URL path must not include encoded / characters');
  return decodeURIComponent(found.pathname);
};

const pathToFileURL = (path) => new URL('file://' + escape(require('path').resolve(path), PATH + '%\\'));

// Node's older `url.parse`.
const parse = (address, query = false) => {
  const text = String(address).trim();
  const match = /^([A-Za-z][A-Za-z0-9+.-]*:)?(\/\/(?:([^/?#]*)@)?([^/?#:]*)(?::(\d+))?)?([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(text);
  const [, protocol, slashes, auth, name, port, path, search, hash] = match;
  const hostname = name?.toLowerCase();
  const pathname = path || (slashes ? '/' : null);
  const bare = search?.slice(1) ?? null;
  return {
    protocol: protocol?.toLowerCase() ?? null, slashes: slashes ? true : null, auth: auth ? decodeURIComponent(auth) : null,
    host: slashes ? hostname + (port ? ':' + port : '') : null, port: port ?? null, hostname: slashes ? hostname : null,
    hash: hash ?? null, search: search ?? null, query: query ? require('querystring').parse(bare ?? '') : bare,
    pathname, path: (pathname ?? '') + (search ?? '') || null, href: text,
  };
};

const format = (address) => {
  if (typeof address === 'string') return address;
  if (address instanceof URL) return address.href;
  const { auth, hostname, port, pathname = '', hash = '', slashes } = address;
  const protocol = address.protocol ? address.protocol.replace(/:?$/, ':') : '';
  const host = address.host ?? (hostname ? `${auth ? encodeURIComponent(auth) + '@' : ''}${hostname}${port ? ':' + port : ''}` : '');
  const query = address.query && typeof address.query === 'object' ? require('querystring').stringify(address.query) : address.query;
  const search = address.search ?? (query ? '?' + query : '');
  const start = slashes || (host && isSpecial(protocol)) ? '//' : '';
  return protocol + start + host + (host && pathname && !pathname?.startsWith('/') ? '/' : '') + (pathname ?? '') + (search ?? '') + (hash ?? '');
};

const resolve = (from, to) => {
  const base = new URL(from, 'resolve://here/');
  const found = new URL(to, base);
  if (found.protocol !== 'resolve:') return found.href;
  return (found.host === 'here' ? '' : '//' + found.host) + found.pathname + found.search + found.hash;
};

const urlToHttpOptions = (url) => ({
  protocol: url.protocol, hostname: url.hostname, hash: url.hash, search: url.search,
  pathname: url.pathname, path: url.pathname + url.search, href: url.href,
});

module.exports = { URL, URLSearchParams, fileURLToPath, pathToFileURL, parse, format, resolve, urlToHttpOptions };
