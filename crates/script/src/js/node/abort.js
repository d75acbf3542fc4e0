// Events and abort signals, limited to the features that scripts use.
'use strict';

class Event {
  constructor(type, options = {}) {
    this.type = String(type);
    this.cancelable = Boolean(options.cancelable);
    this.defaultPrevented = false;
    this.target = null;
    this.timeStamp = 0;
  }
  preventDefault() { if (this.cancelable) this.defaultPrevented = true; }
  stopImmediatePropagation() { this.stopped = true; }
  stopPropagation() {}
}

class EventTarget {
  #listeners = [];
  addEventListener(type, listener, options) {
    if (listener === null || listener === undefined) return;
    if (this.#listeners.some((entry) => entry.type === type && entry.listener === listener)) return;
    this.#listeners.push({ type, listener, once: Boolean(options?.once) });
  }
  removeEventListener(type, listener) {
    this.#listeners = this.#listeners.filter((entry) => entry.type !== type || entry.listener !== listener);
  }
  dispatchEvent(event) {
    event.target = this;
    for (const entry of this.#listeners.filter((entry) => entry.type === event.type)) {
      if (entry.once) this.removeEventListener(entry.type, entry.listener);
      const handler = typeof entry.listener === 'function' ? entry.listener : entry.listener.handleEvent;
      Reflect.apply(handler, typeof entry.listener === 'function' ? this : entry.listener, [event]);
      if (event.stopped) break;
    }
    return !event.defaultPrevented;
  }
}

const aborted = (reason) => reason ?? new DOMException('This operation was aborted', 'AbortError');

class AbortSignal extends EventTarget {
  aborted = false;
  reason = undefined;
  onabort = null;

  throwIfAborted() { if (this.aborted) throw this.reason; }
  toJSON() { return { aborted: this.aborted }; }

  static abort(reason) {
    const signal = new AbortSignal();
    end(signal, reason);
    return signal;
  }
  static timeout(delay) {
    const signal = new AbortSignal();
    setTimeout(() => end(signal, new DOMException('The operation was aborted due to timeout', 'TimeoutError')), delay);
    return signal;
  }
  static any(signals) {
    const all = new AbortSignal();
    for (const signal of signals) {
      if (signal.aborted) { end(all, signal.reason); break; }
      signal.addEventListener('abort', () => end(all, signal.reason), { once: true });
    }
    return all;
  }
}

const end = (signal, reason) => {
  if (signal.aborted) return;
  signal.aborted = true;
  signal.reason = aborted(reason);
  const event = new Event('abort');
  signal.onabort?.(event);
  signal.dispatchEvent(event);
};

class AbortController {
  signal = new AbortSignal();
  abort(reason) { end(this.signal, reason); }
}

module.exports = { Event, EventTarget, AbortSignal, AbortController };
