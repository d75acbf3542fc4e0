// Node's `path` for POSIX. It only handles texts and does not access files.
'use strict';

const need = (value, name) => {
  if (typeof value !== 'string') {
    const error = new TypeError(`The "${name}" argument must be of type string. Received ${value === null ? 'null' : typeof value}`);
    error.code = 'ERR_INVALID_ARG_TYPE';
    throw error;
  }
  return value;
};

// Resolves `.` and `..`. With `up`, a `..` above the start is preserved.
const tidy = (path, up) => {
  const kept = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') kept.push(part);
    else if (kept.length > 0 && kept.at(-1) !== '..') kept.pop();
    else if (up) kept.push('..');
  }
  return kept.join('/');
};

const isAbsolute = (path) => need(path, 'path').startsWith('/');

const normalize = (path) => {
  if (need(path, 'path') === '') return '.';
  const root = path.startsWith('/') ? '/' : '';
  const end = path.endsWith('/') ? '/' : '';
  const inner = tidy(path, root === '');
  if (inner === '') return root || '.' + end;
  return root + inner + end;
};

const join = (...parts) => {
  const given = parts.filter((part) => need(part, 'path') !== '');
  return given.length === 0 ? '.' : normalize(given.join('/'));
};

// A script has no working directory, so a relative path starts at the root.
const resolve = (...parts) => {
  let path = '';
  for (const part of parts.toReversed()) {
    if (need(part, 'path') === '') continue;
    path = path === '' ? part : `${part}/${path}`;
    if (part.startsWith('/')) break;
  }
  return '/' + tidy(path, false);
};

const relative = (from, to) => {
  const start = resolve(need(from, 'from')).split('/').filter(Boolean);
  const end = resolve(need(to, 'to')).split('/').filter(Boolean);
  let same = 0;
  while (same < start.length && same < end.length && start[same] === end[same]) same += 1;
  return [...start.slice(same).map(() => '..'), ...end.slice(same)].join('/');
};

const trimmed = (path) => {
  let end = path.length;
  while (end > 1 && path[end - 1] === '/') end -= 1;
  return path.slice(0, end);
};

const dirname = (path) => {
  if (need(path, 'path') === '') return '.';
  const whole = trimmed(path);
  const at = whole.lastIndexOf('/');
  if (at === -1) return '.';
  if (at === 0) return '/';
  // Two leading slashes are preserved, as in Node.
  return at === 1 && whole.startsWith('//') ? '//' : whole.slice(0, at);
};

const basename = (path, suffix) => {
  need(path, 'path');
  if (suffix !== undefined) need(suffix, 'suffix');
  const whole = trimmed(path);
  const base = whole === '/' ? '' : whole.slice(whole.lastIndexOf('/') + 1);
  if (suffix === undefined || suffix === '') return base;
  if (suffix === path) return '';
  return base !== suffix && base.endsWith(suffix) ? base.slice(0, -suffix.length) : base;
};

const extname = (path) => {
  const base = basename(need(path, 'path'));
  const at = base.lastIndexOf('.');
  return at <= 0 || base === '..' ? '' : base.slice(at);
};

const parse = (path) => {
  const root = need(path, 'path').startsWith('/') ? '/' : '';
  const base = basename(path);
  const ext = extname(path);
  const name = base.slice(0, base.length - ext.length);
  const whole = trimmed(path);
  const at = whole.lastIndexOf('/');
  const dir = at <= 0 ? root : whole.slice(0, at);
  return { root, dir, base, ext, name };
};

const format = (parts) => {
  if (parts === null || typeof parts !== 'object') throw new TypeError('The "pathObject" argument must be of type object.');
  const ext = parts.ext ? (parts.ext.startsWith('.') ? '' : '.') + parts.ext : '';
  const base = parts.base || `${parts.name || ''}${ext}`;
  const dir = parts.dir || parts.root;
  if (!dir) return base;
  return dir === parts.root ? `${dir}${base}` : `${dir}/${base}`;
};

const toNamespacedPath = (path) => path;

module.exports = {
  sep: '/',
  delimiter: ':',
  basename, dirname, extname, format, isAbsolute, join, normalize, parse, relative, resolve, toNamespacedPath,
};
module.exports.posix = module.exports;
