// Node's `events`.
'use strict';

const listenersOf = (emitter, name) => {
  if (emitter._events === undefined) Object.defineProperty(emitter, '_events', { value: new Map(), configurable: true });
  return emitter._events.get(name) ?? [];
};

const check = (listener) => {
  if (typeof listener !== 'function') {
    const error = new TypeError('The "listener" argument must be of type function.');
    error.code = 'ERR_INVALID_ARG_TYPE';
    throw error;
  }
};

const add = (emitter, name, listener, once, first) => {
  check(listener);
  const list = listenersOf(emitter, name);
  if (emitter._events.has('newListener')) emitter.emit('newListener', name, listener);
  const entry = { listener, once };
  emitter._events.set(name, first ? [entry, ...list] : [...list, entry]);
  return emitter;
};

class EventEmitter {
  on(name, listener) { return add(this, name, listener, false, false); }
  addListener(name, listener) { return this.on(name, listener); }
  prependListener(name, listener) { return add(this, name, listener, false, true); }
  once(name, listener) { return add(this, name, listener, true, false); }
  prependOnceListener(name, listener) { return add(this, name, listener, true, true); }

  off(name, listener) {
    check(listener);
    const list = listenersOf(this, name);
    const at = list.findLastIndex((entry) => entry.listener === listener);
    if (at === -1) return this;
    this._set(name, list.toSpliced(at, 1));
    if (this._events.has('removeListener')) this.emit('removeListener', name, listener);
    return this;
  }
  removeListener(name, listener) { return this.off(name, listener); }

  removeAllListeners(name) {
    if (name === undefined) this._events?.clear(); else this._events?.delete(name);
    return this;
  }

  emit(name, ...args) {
    const list = listenersOf(this, name);
    if (list.length === 0 && name === 'error') {
      if (args[0] instanceof Error) throw args[0];
      throw Object.assign(new Error(`Unhandled error. (${String(args[0])})`), { code: 'ERR_UNHANDLED_ERROR', context: args[0] });
    }
    for (const entry of list) {
      if (entry.once) this._set(name, listenersOf(this, name).filter((other) => other !== entry));
      Reflect.apply(entry.listener, this, args);
    }
    return list.length > 0;
  }

  _set(name, list) {
    if (list.length > 0) this._events.set(name, list); else this._events.delete(name);
  }

  listenerCount(name) { return listenersOf(this, name).length; }
  listeners(name) { return listenersOf(this, name).map((entry) => entry.listener); }
  rawListeners(name) { return this.listeners(name); }
  eventNames() { return this._events === undefined ? [] : [...this._events.keys()]; }
  setMaxListeners() { return this; }
  getMaxListeners() { return EventEmitter.defaultMaxListeners; }
}
Object.defineProperty(EventEmitter.prototype, '_set', { enumerable: false });

// Older code calls it without `new`, as Node allows: `EventEmitter.call(this)`.
function Emitter() {}
for (const key of Object.getOwnPropertyNames(EventEmitter.prototype)) {
  if (key !== 'constructor') {
    Object.defineProperty(Emitter.prototype, key, { value: EventEmitter.prototype[key], writable: true, configurable: true });
  }
}
EventEmitter.defaultMaxListeners = 10;
Emitter.defaultMaxListeners = 10;

const once = (emitter, name) => new Promise((resolve, reject) => {
  const fail = (error) => { emitter.off(name, done); reject(error); };
  const done = (...args) => { emitter.off('error', fail); resolve(args); };
  emitter.once(name, done);
  if (name !== 'error') emitter.once('error', fail);
});

module.exports = Emitter;
module.exports.EventEmitter = Emitter;
module.exports.once = once;
module.exports.listenerCount = (emitter, name) => emitter.listenerCount(name);
