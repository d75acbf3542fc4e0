// Node's `fs`. The host performs each call if it is permitted. Bytes are passed as characters.
'use strict';

const { Buffer } = require('buffer');

// Fails when the module is loaded, instead of at the first call, if nothing is permitted.
internal.file('granted', []);

const pathOf = (path) => {
  if (typeof path === 'string') return path;
  if (path !== null && typeof path === 'object' && path.protocol === 'file:') return require('url').fileURLToPath(path);
  if (Buffer.isBuffer(path)) return path.toString();
  const error = new TypeError('The "path" argument must be of type string or an instance of Buffer or URL.');
  error.code = 'ERR_INVALID_ARG_TYPE';
  throw error;
};

const ask = (name, path, ...rest) => {
  const result = internal.file(name, [pathOf(path), ...rest]);
  if (result !== null && typeof result === 'object' && result.failed !== undefined) {
    const error = new Error(result.message);
    Object.assign(error, { code: result.failed, syscall: name, path: pathOf(path) });
    throw error;
  }
  return result;
};

const encodingOf = (options) => (typeof options === 'string' ? options : options?.encoding);

const dataOf = (data, options) => {
  if (typeof data !== 'string' && !ArrayBuffer.isView(data)) throw new TypeError('The "data" argument must be of type string or an instance of Buffer.');
  const buffer = typeof data === 'string' ? Buffer.from(data, encodingOf(options) ?? 'utf8')
    : Buffer.from(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  return buffer.toString('latin1');
};

class Stats {
  constructor({ file, folder, size, mtimeMs }) {
    Object.assign(this, { size, mtimeMs, mtime: new Date(mtimeMs) });
    Object.defineProperty(this, 'kind', { value: { file, folder } });
  }
  isFile() { return this.kind.file; }
  isDirectory() { return this.kind.folder; }
  isSymbolicLink() { return false; }
}

class Dirent {
  constructor(name, parentPath, folder) {
    Object.assign(this, { name, parentPath, path: parentPath });
    Object.defineProperty(this, 'folder', { value: folder });
  }
  isFile() { return !this.folder; }
  isDirectory() { return this.folder; }
  isSymbolicLink() { return false; }
}

const readFileSync = (path, options) => {
  const buffer = Buffer.from(ask('readFile', path), 'latin1');
  const encoding = encodingOf(options);
  return encoding ? buffer.toString(encoding) : buffer;
};
const writeFileSync = (path, data, options) => {
  ask(options?.flag === 'a' ? 'appendFile' : 'writeFile', path, dataOf(data, options));
};
const appendFileSync = (path, data, options) => { ask('appendFile', path, dataOf(data, options)); };
const existsSync = (path) => {
  try { return ask('exists', path); } catch { return false; }
};
const readdirSync = (path, options) => {
  const entries = ask('readdir', path);
  if (!options?.withFileTypes) return entries.map(([name]) => name);
  return entries.map(([name, folder]) => new Dirent(name, pathOf(path), folder));
};
const statSync = (path, options) => {
  try {
    return new Stats(ask('stat', path));
  } catch (error) {
    if (options?.throwIfNoEntry === false && error.code === 'ENOENT') return undefined;
    throw error;
  }
};
const mkdirSync = (path, options) => { ask('mkdir', path, Boolean(options?.recursive)); };
const unlinkSync = (path) => { ask('unlink', path); };
const rmdirSync = (path) => { ask('rmdir', path); };
const renameSync = (path, to) => { ask('rename', path, pathOf(to)); };
const copyFileSync = (path, to) => { ask('copyFile', path, pathOf(to)); };
const realpathSync = (path) => ask('realpath', path);
const accessSync = (path) => { ask('stat', path); };
const rmSync = (path, options) => {
  const stats = statSync(path, { throwIfNoEntry: !options?.force });
  if (stats === undefined) return;
  if (!stats.isDirectory()) return unlinkSync(path);
  if (!options?.recursive) throw Object.assign(new Error(`Path is a directory: rm returned EISDIR ${pathOf(path)}`), { code: 'ERR_FS_EISDIR' });
  for (const name of readdirSync(path)) rmSync(`${pathOf(path)}/${name}`, options);
  rmdirSync(path);
};

const sync = {
  readFileSync, writeFileSync, appendFileSync, readdirSync, statSync, mkdirSync, unlinkSync, rmdirSync, renameSync,
  copyFileSync, realpathSync, accessSync, rmSync, lstatSync: statSync,
};

const constants = { F_OK: 0, X_OK: 1, W_OK: 2, R_OK: 4 };
const fs = { ...sync, existsSync, Stats, Dirent, constants, promises: { constants } };
for (const [name, action] of Object.entries(sync)) {
  const plain = name.slice(0, -'Sync'.length);
  fs.promises[plain] = async (...args) => action(...args);
  fs[plain] = (...args) => {
    const callback = args.pop();
    fs.promises[plain](...args).then((value) => callback(null, value), callback);
  };
}
fs.exists = (path, callback) => callback(existsSync(path));

module.exports = fs;

// Never executed: the loader reads the export names for `import` from this text.
0 && (module.exports = {
  readFileSync, writeFileSync, appendFileSync, readdirSync, statSync, mkdirSync, unlinkSync, rmdirSync, renameSync,
  copyFileSync, realpathSync, accessSync, rmSync, lstatSync, existsSync,
  readFile, writeFile, appendFile, readdir, stat, mkdir, unlink, rmdir, rename, copyFile, realpath, access, rm, lstat,
  exists, Stats, Dirent, constants, promises,
});
