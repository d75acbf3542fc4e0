// The JavaScript part of a worker. It receives the host functions and returns the functions that the
// worker calls. It owns all objects that outlive a turn, so that the Rust side stores none.
(host) => {
  'use strict';
  const functions = new Map();
  const ids = new Map();
  const pieces = new Map();
  const promises = new Map();
  const timers = new Map();
  let handed = 0;
  const { apply, ownKeys, construct } = Reflect;
  const then = Promise.prototype.then;
  const text = String;

  // The kinds of names that the host reports.
  const MISSING = 0, VALUE = 2, FUNCTION = 3, HOST = 4, EXPORT = 5, SAME = 6;

  const isObject = (value) => value !== null && typeof value === 'object';

  // The live job of a proxy. A function that outlives its job uses the current one instead.
  const live = (piece) => (pieces.has(piece.id) ? piece : pieces.get(host.current()) ?? piece);

  const find = (owner, name) => {
    const piece = live(owner);
    const seen = piece.seen.get(name);
    if (seen !== undefined) return [VALUE, seen];
    let found = host.get(piece.id, name);
    if (found[0] === SAME) found = [VALUE, piece.got.get(name)];
    if (found[0] === VALUE && isObject(found[1])) {
      piece.seen.set(name, found[1]);
      piece.got.set(name, found[1]);
    }
    return found;
  };

  // A function of the host and its members: `$agent.interact`, `$kit.tool`.
  const callable = (owner, name) => new Proxy((...args) => call(owner, name, args), {
    get: (target, key) => {
      if (typeof key !== 'string' || key in target) return target[key];
      const inner = `${name}.${key}`;
      return reach(owner, inner, find(owner, inner));
    },
  });

  const call = (owner, name, args) => {
    const piece = live(owner);
    save(piece);
    const [later, result] = host.call(piece.id, name, args);
    piece.seen.clear();
    if (!later) return result;
    return new Promise((resolve, reject) => promises.set(result, { resolve, reject }));
  };

  // Sends objects that were read from the host and changed in place back to it.
  const save = (piece) => {
    for (const [name, object] of piece.got) host.save(piece.id, name, object);
  };

  const reach = (owner, name, [kind, payload], receiver) => {
    switch (kind) {
      case VALUE: return payload;
      case HOST: return callable(owner, name);
      case FUNCTION: case EXPORT: {
        const target = kind === FUNCTION ? use(payload) : exported(payload);
        return receiver !== undefined && typeof target === 'function' && !isClass(target)
          ? (...args) => apply(target, receiver, args) : target;
      }
      default: return undefined;
    }
  };

  const use = (id) => {
    let made = functions.get(id);
    if (made === undefined) {
      made = host.compile(id);
      keep(id, made);
    }
    return made;
  };

  const keep = (id, made) => { functions.set(id, made); ids.set(made, id); };

  // Functions that leave JavaScript have odd ids, those of the script even ones.
  const hold = (made) => {
    let id = ids.get(made);
    if (id === undefined) {
      id = 2 * handed++ + 1;
      keep(id, made);
    }
    return id;
  };

  // Modules. `require` loads CommonJS. The engine loads ES modules, which are returned as promises.
  const ES = 0, CODE = 1;
  const cache = new Map();
  const spaces = new Map();
  const coming = new Map();

  const folder = (path) => path.slice(0, Math.max(path.lastIndexOf('/'), 0));

  const requireFrom = (from) => {
    const require = (name) => load(from.startsWith('node:') ? 'node:' + name : host.resolve(from, text(name)));
    require.resolve = (name) => host.resolve(from, text(name));
    return require;
  };

  const load = (path) => {
    const known = cache.get(path);
    if (known !== undefined) return known.exports;
    const [kind, payload] = host.load(path);
    if (kind === ES) return host.import(path);
    const module = { exports: {}, id: path, filename: path, loaded: false };
    cache.set(path, module);
    try {
      if (kind !== CODE) module.exports = payload;
      else {
        const internal = path.startsWith('node:') ? { file: host.file, call: (name, args) => call(pieces.get(host.current()), name, args) } : undefined;
        apply(payload, module.exports,
          [module.exports, requireFrom(path), module, path, folder(path), internal]);
      }
    } catch (error) {
      cache.delete(path);
      throw error;
    }
    module.loaded = true;
    return module.exports;
  };

  // Loads a module of the script's `import`. Returns a promise only if that is necessary.
  const bring = (id) => {
    if (spaces.has(id)) return undefined;
    if (coming.has(id)) return coming.get(id);
    const path = host.wanted(id);
    const value = load(path);
    const settle = (space) => {
      coming.delete(id);
      spaces.set(id, isObject(space) ? space : { default: space, ...space });
    };
    if (cache.has(path)) return settle(value);
    const promise = apply(then, value, [settle]);
    coming.set(id, promise);
    return promise;
  };

  const space = (id) => {
    if (!spaces.has(id)) throw new Error('this module is still being loaded');
    return spaces.get(id);
  };

  const describeExports = (id) => {
    const value = space(id);
    return ownKeys(value).filter((key) => typeof key === 'string').map((name) => {
      const item = value[name];
      if (isClass(item)) return [name, 'class', undefined];
      return typeof item === 'function' ? [name, 'function', text(item)] : [name, 'value', item];
    });
  };

  const exported = ([module, path]) => {
    let value = space(module);
    for (const key of path) value = value?.[key];
    return value;
  };

  // Looks up `this.name`, which may also be written for `$name`.
  const member = (owner, name) => {
    const found = find(owner, name);
    if (found[0] !== MISSING) return reach(owner, name, found);
    if (name.startsWith('$')) return undefined;
    const directive = find(owner, '$' + name);
    return directive[0] >= FUNCTION ? reach(owner, '$' + name, directive) : undefined;
  };

  const write = (owner, name, value) => {
    const piece = live(owner);
    host.set(piece.id, name, value);
    piece.seen.delete(name);
    return true;
  };

  const names = (owner) => host.names(live(owner).id);

  const describe = (owner, name) => {
    if (typeof name === 'symbol' || find(owner, name)[0] === MISSING) return undefined;
    return { value: member(owner, name), writable: true, enumerable: true, configurable: true };
  };

  const runtimeOf = (piece) => new Proxy({}, {
    get: (_, name) => (typeof name === 'symbol' ? undefined : member(piece, name)),
    set: (_, name, value) => (typeof name === 'symbol' ? false : write(piece, name, value)),
    has: (_, name) => typeof name !== 'symbol' && find(piece, name)[0] !== MISSING,
    deleteProperty: (_, name) => write(piece, text(name), undefined),
    ownKeys: () => names(piece),
    getOwnPropertyDescriptor: (_, name) => describe(piece, name),
    getPrototypeOf: () => null,
    setPrototypeOf: () => false,
    defineProperty: (_, name, how) => write(piece, text(name), how.value),
    preventExtensions: () => false,
  });

  // The scope of an expression. JavaScript itself resolves names that the host does not define.
  const scopeOf = (piece) => new Proxy(Object.create(null), {
    get: (_, name) => (typeof name === 'symbol' ? undefined
      : reach(piece, name, find(piece, name), piece.self)),
    set: (_, name, value) => write(piece, name, value),
    has: (_, name) => typeof name !== 'symbol' && find(piece, name)[0] !== MISSING,
  });

  const open = (id, args) => {
    const piece = { id, args, seen: new Map(), got: new Map(), self: undefined };
    piece.self = runtimeOf(piece);
    pieces.set(id, piece);
    return piece;
  };

  const close = (id) => {
    pieces.delete(id);
    for (const [timer, { owner }] of timers) if (owner === id) stop(timer);
  };

  const done = (piece, ok, value) => {
    if (!pieces.has(piece.id)) return;
    try {
      save(piece);
    } catch (error) {
      if (ok) [ok, value] = [false, error];
    }
    host.done(piece.id, ok, value, piece.args);
    close(piece.id);
  };

  const isThenable = (value) =>
    (isObject(value) || typeof value === 'function') && typeof value.then === 'function';

  const run = (piece, body) => {
    let result;
    try {
      result = body();
      if (isThenable(result)) {
        apply(then, Promise.resolve(result),
          [(value) => done(piece, true, value), (error) => done(piece, false, error)]);
        return;
      }
    } catch (error) {
      done(piece, false, error);
      return;
    }
    done(piece, true, result);
  };

  const isClass = (value) => typeof value === 'function'
    && Object.getOwnPropertyDescriptor(value, 'prototype')?.writable === false;

  // Converts an object that is not plain to data, before it leaves JavaScript.
  const plain = (value) => {
    if (typeof value.toJSON === 'function') return value.toJSON('');
    if (Array.isArray(value)) return Array.from(value);
    if (value instanceof Map) return Object.fromEntries([...value].map(([k, v]) => [text(k), v]));
    if (value instanceof Set) return [...value];
    if (value instanceof RegExp) return text(value);
    if (value instanceof Error) return { name: value.name, message: value.message, ...value };
    if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return Array.from(value);
    if (value instanceof Number || value instanceof String || value instanceof Boolean) return value.valueOf();
    return value;
  };

  const define = (object, key, value) =>
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });

  // Globals for scripts.
  const start = (callback, delay, args, again) => {
    if (typeof callback !== 'function') throw new TypeError('a timer needs a function');
    const owner = host.current();
    const timer = host.timer(+delay || 0, again);
    timers.set(timer, { owner, callback, args, again });
    return timer;
  };
  const stop = (timer) => { if (timers.delete(timer)) host.untimer(timer); };
  const line = (args) => (args.every((arg) => typeof arg === 'string') && !args[0]?.includes('%')
    ? args.join(' ') : load('node:util').format(...args));
  const logger = (level) => (...args) => host.log(level, line(args));
  define(globalThis, 'console', {
    log: logger(0), info: logger(0), debug: logger(0), trace: logger(0), warn: logger(1), error: logger(2),
  });
  globalThis.setTimeout = (callback, delay, ...args) => start(callback, delay, args, false);
  globalThis.setInterval = (callback, delay, ...args) => start(callback, delay, args, true);
  globalThis.setImmediate = (callback, ...args) => start(callback, 0, args, false);
  const later = (name, module, granted = () => true) => Object.defineProperty(globalThis, name, {
    get() {
      if (!granted()) return undefined;
      define(globalThis, name, load(module)[name]); return globalThis[name];
    },
    set(value) { define(globalThis, name, value); },
    configurable: true,
  });
  for (const name of ['TextEncoder', 'TextDecoder', 'atob', 'btoa', 'structuredClone']) later(name, 'node:internal/encoding');
  for (const name of ['AbortController', 'AbortSignal', 'Event', 'EventTarget']) later(name, 'node:internal/abort');
  const net = () => host.file('net', []);
  for (const name of ['fetch', 'Headers', 'Response']) later(name, 'node:internal/fetch', net);
  for (const name of ['URL', 'URLSearchParams']) later(name, 'node:url');
  later('Buffer', 'node:buffer');
  globalThis.clearTimeout = globalThis.clearInterval = globalThis.clearImmediate = stop;

  return {
    plain, hold, define, close, use,
    whole: (value) => value.toWellFormed(),
    evaluate(id, code) {
      const piece = open(id, []);
      const scope = scopeOf(piece);
      run(piece, () => apply(code, piece.self, [scope]));
    },
    call(id, kind, target, args) {
      const piece = open(id, args);
      run(piece, () => {
        const made = kind === FUNCTION ? use(target) : exported(target);
        if (isClass(made)) return construct(made, args);
        if (typeof made !== 'function') throw new TypeError('what was called is not a function');
        return apply(made, piece.self, args);
      });
    },
    settle(question, ok, value) {
      const promise = promises.get(question);
      promises.delete(question);
      if (ok) promise?.resolve(value); else promise?.reject(value);
    },
    renew(id) { pieces.get(id)?.seen.clear(); },
    fire(timer) {
      const found = timers.get(timer);
      if (found === undefined) return;
      if (!found.again) timers.delete(timer);
      apply(found.callback, undefined, found.args);
    },
    owner: (timer) => timers.get(timer)?.owner,
    require: requireFrom,
    load,
    bound: (action, argument) => () => action(argument),
    import(id, module) {
      const piece = open(id, []);
      const fail = (error) => done(piece, false, error);
      const finish = () => {
        try {
          host.imported(id, describeExports(module));
          close(id);
        } catch (error) {
          fail(error);
        }
      };
      try {
        const promise = bring(module);
        if (promise === undefined) finish(); else apply(then, promise, [finish, fail]);
      } catch (error) {
        fail(error);
      }
    },
    // Loads the modules of a previous worker again. An error is reported where the module is used.
    again(modules) {
      for (const module of modules) {
        try {
          bring(module)?.catch(() => {});
        } catch {}
      }
    },
  };
}
