// Node's `util`.
'use strict';

const { TextEncoder, TextDecoder } = require('internal/encoding');
const CUSTOM = Symbol.for('nodejs.util.inspect.custom');
const WIDE = 72;

const quote = (text) => {
  const mark = !text.includes("'") ? "'" : !text.includes('"') ? '"' : !text.includes('`') ? '`' : "'";
  const escaped = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\t', '\\t').replaceAll('\r', '\\r')
    .replaceAll('\b', '\\b').replaceAll('\f', '\\f').replaceAll('\v', '\\v')
    .replace(/[\0-\x07\x0e-\x1f\x7f]/g, (char) => '\\x' + char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0'));
  return mark + escaped.replaceAll(mark, '\\' + mark) + mark;
};

const primitive = (value) => {
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'bigint') return `${value}n`;
  return Object.is(value, -0) ? '-0' : String(value);
};

const nameOf = (value) => {
  for (let at = value; at !== null; at = Object.getPrototypeOf(at)) {
    const made = Object.getOwnPropertyDescriptor(at, 'constructor')?.value;
    if (typeof made === 'function' && made.name !== '') return made.name;
  }
  return null;
};

const keyOf = (key) => {
  if (typeof key === 'symbol') return `[${String(key)}]`;
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : quote(key);
};

const functionOf = (value) => {
  const isClass = /^class\b/.test(Function.prototype.toString.call(value));
  if (isClass) {
    const parent = Object.getPrototypeOf(value).name;
    return `[class ${value.name || '(anonymous)'}${parent ? ' extends ' + parent : ''}]`;
  }
  const kind = nameOf(value) ?? 'Function';
  return `[${kind}${value.name ? ': ' + value.name : ' (anonymous)'}]`;
};

class Inspector {
  constructor(options) {
    this.depth = options.depth === null ? Infinity : options.depth ?? 2;
    this.most = options.maxArrayLength ?? 100;
    this.hidden = Boolean(options.showHidden);
    this.width = options.breakLength ?? 80;
    this.compact = options.compact ?? 3;
    this.sorted = Boolean(options.sorted);
    this.options = options;
    this.open = [];
    this.circular = new Map();
    // The depth of the last formatted object. Entries of deep objects are written on separate lines.
    this.reached = 0;
  }

  show(value, level, indent) {
    if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return primitive(value);
    const custom = value[CUSTOM];
    if (typeof custom === 'function' && custom !== inspect) {
      const result = Reflect.apply(custom, value, [this.depth - level, this.options, inspect]);
      return typeof result === 'string' ? result : this.show(result, level, indent);
    }
    if (this.open.includes(value)) {
      if (!this.circular.has(value)) this.circular.set(value, this.circular.size + 1);
      return `[Circular *${this.circular.get(value)}]`;
    }
    return this.object(value, level, indent);
  }

  object(value, level, indent) {
    const keys = this.keys(value);
    const start = this.start(value, keys);
    const isList = Array.isArray(value) || ArrayBuffer.isView(value);
    const hasItems = isList || value instanceof Map || value instanceof Set;
    if (keys.length === 0 && !hasItems) return start.alone;
    if (level > this.depth) return `[${Array.isArray(value) ? 'Array' : nameOf(value) ?? 'Object: null prototype'}]`;
    this.open.push(value);
    this.reached = level;
    const entries = this.entries(value, keys, level + 1, indent + 2);
    this.open.pop();
    const [left, right] = isList ? '[]' : '{}';
    const mark = this.circular.has(value) ? `<ref *${this.circular.get(value)}> ` : '';
    const isDeep = this.reached - level >= this.compact;
    return mark + this.lay(entries, start.prefix, [left, right], indent, isList, isDeep);
  }

  keys(value) {
    const keys = this.hidden ? Object.getOwnPropertyNames(value) : Object.keys(value);
    const isList = Array.isArray(value) || ArrayBuffer.isView(value) || value instanceof String;
    const own = isList ? keys.filter((key) => !/^\d+$/.test(key)) : keys;
    const symbols = Object.getOwnPropertySymbols(value).filter((key) => Object.prototype.propertyIsEnumerable.call(value, key));
    return [...(this.sorted ? own.toSorted() : own), ...symbols];
  }

  // The start of an object: `alone` if it has no entries, `prefix` before entries.
  start(value, keys) {
    const both = (text) => ({ alone: text, prefix: text + ' ' });
    if (typeof value === 'function') return both(functionOf(value));
    if (value instanceof Error) {
      const at = keys.indexOf('cause');
      if (at !== -1 && !this.hidden) keys.splice(at, 1);
      const head = String(value);
      const stack = typeof value.stack === 'string' ? value.stack.trimEnd() : '';
      const whole = stack === '' ? `[${head}]` : `${head}\n${stack}`;
      return both(whole);
    }
    if (value instanceof RegExp) return both(String(value));
    if (value instanceof Date) return both(Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString());
    if (value instanceof Promise) return both('Promise {}');
    const name = nameOf(value);
    if (value instanceof Number || value instanceof String || value instanceof Boolean) {
      return both(`[${name}: ${primitive(value.valueOf())}]`);
    }
    if (Array.isArray(value)) return { alone: '[]', prefix: name === 'Array' ? '' : `${name}(${value.length}) ` };
    if (ArrayBuffer.isView(value)) return { alone: `${name}(0) []`, prefix: `${name}(${value.length}) ` };
    if (value instanceof Map || value instanceof Set) return both(`${name}(${value.size})`);
    const tag = value[Symbol.toStringTag];
    const label = typeof tag === 'string' && tag !== '' && tag !== name ? ` [${tag}]` : '';
    const shown = name === null ? '[Object: null prototype]' : name;
    const prefix = (shown === 'Object' && label === '' ? '' : `${shown}${label} `);
    return { alone: `${prefix}{}`, prefix };
  }

  entries(value, keys, level, indent) {
    const items = [];
    if (Array.isArray(value) || ArrayBuffer.isView(value)) items.push(...this.items(value, level, indent));
    else if (value instanceof Map) {
      for (const [key, item] of value) items.push(`${this.show(key, level, indent)} => ${this.show(item, level, indent)}`);
    } else if (value instanceof Set) {
      for (const item of value) items.push(this.show(item, level, indent));
    }
    for (const key of keys) items.push(this.property(value, key, level, indent));
    return items;
  }

  items(value, level, indent) {
    const items = [];
    const end = Math.min(value.length, this.most);
    for (let at = 0; at < end; at += 1) {
      if (at in value) {
        items.push(this.show(value[at], level, indent));
        continue;
      }
      let empty = 1;
      while (at + empty < value.length && !(at + empty in value)) empty += 1;
      items.push(`<${empty} empty item${empty > 1 ? 's' : ''}>`);
      at += empty - 1;
    }
    const left = value.length - end;
    if (left > 0) items.push(`... ${left} more item${left > 1 ? 's' : ''}`);
    return items;
  }

  property(value, key, level, indent) {
    const { get, set, value: item } = Object.getOwnPropertyDescriptor(value, key) ?? { value: value[key] };
    const shown = get !== undefined ? (set !== undefined ? '[Getter/Setter]' : '[Getter]')
      : set !== undefined ? '[Setter]' : this.show(item, level, indent);
    const isShown = Object.prototype.propertyIsEnumerable.call(value, key);
    return `${isShown ? keyOf(key) : `[${String(key)}]`}: ${shown}`;
  }

  // Writes entries on one line if they are short and not nested deeply, otherwise one per line, as Node does.
  lay(entries, prefix, [left, right], indent, isList, isDeep) {
    if (entries.length === 0) return `${prefix}${left}${right}`;
    const rows = isList && entries.length > 6 && this.compact >= 1 ? columns(entries, indent) : entries;
    const isGrouped = rows !== entries && rows.length !== entries.length;
    const isFlat = !isGrouped && !isDeep;
    const length = entries.reduce((sum, entry) => sum + entry.length + 1, entries.length + prefix.length);
    if (isFlat && length + indent <= Math.min(this.width, WIDE + 4 + indent) && !entries.some((entry) => entry.includes('\n'))) {
      return `${prefix}${left} ${entries.join(', ')} ${right}`;
    }
    const space = '\n' + ' '.repeat(indent);
    return `${prefix}${left}${space}  ${rows.join(`,${space}  `)}${space}${right}`;
  }
}

// Arranges many short items of a list in columns.
const columns = (entries, indent) => {
  const more = entries.at(-1).startsWith('...') ? entries.slice(-1) : [];
  const items = more.length > 0 ? entries.slice(0, -1) : entries;
  const lengths = items.map((item) => item.length + 2);
  const widest = Math.max(...lengths);
  const total = lengths.reduce((sum, length) => sum + length, 0);
  if (widest * 3 + indent >= 80 || (total / widest <= 5 && widest > 6 + 2)) return entries;
  const bias = Math.sqrt(widest - total / entries.length);
  const perRow = Math.min(Math.round(Math.sqrt(2.5 * Math.max(bias, 1) * items.length) / Math.max(bias, 1)),
    Math.floor((80 - indent) / widest), 4 * 3, 15);
  if (perRow <= 1) return entries;
  const widths = Array.from({ length: perRow }, (_, column) =>
    Math.max(...lengths.filter((_, at) => at % perRow === column)));
  const isNumber = items.every((item) => /^-?[\d.]+n?$/.test(item));
  const rows = [];
  for (let at = 0; at < items.length; at += perRow) {
    const row = items.slice(at, at + perRow);
    const cells = row.map((item, column) => {
      const cell = column === row.length - 1 ? item : item + ', ';
      if (isNumber) return cell.padStart(column === row.length - 1 ? widths[column] - 2 : widths[column]);
      return column === row.length - 1 ? cell : cell.padEnd(widths[column]);
    });
    rows.push(cells.join(''));
  }
  return [...rows, ...more];
};

const inspect = (value, options = {}) => new Inspector(typeof options === 'object' && options !== null ? options : {}).show(value, 0, 0);
inspect.custom = CUSTOM;
inspect.defaultOptions = { depth: 2 };

const number = (value, make) => (typeof value === 'bigint' ? `${value}n` : typeof value === 'symbol' ? 'NaN' : primitive(make(value)));

const one = (letter, value) => {
  switch (letter) {
    case 's':
      if (typeof value === 'bigint' || typeof value === 'string' || Object.is(value, -0)) return typeof value === 'string' ? value : primitive(value);
      if (typeof value !== 'object' || value === null) return typeof value === 'function' ? inspect(value, { depth: 0 }) : String(value);
      return hasOwnText(value) ? String(value) : inspect(value, { depth: 0 });
    case 'd': return number(value, (item) => (typeof item === 'object' ? NaN : Number(item)));
    case 'i': return number(value, (item) => (typeof item === 'object' ? NaN : Number.parseInt(item, 10)));
    case 'f': return typeof value === 'symbol' ? 'NaN' : primitive(Number.parseFloat(value));
    case 'j': return json(value);
    case 'o': return inspect(value, { showHidden: true, depth: 4 });
    case 'O': return inspect(value);
    default: return '';
  }
};

const hasOwnText = (value) => value instanceof Error || (value.toString !== Object.prototype.toString && value.toString !== Array.prototype.toString
  && typeof value.toString === 'function' && !(value instanceof Date && false) && !['Map', 'Set'].includes(nameOf(value)) && Object.getPrototypeOf(value) !== Object.prototype);

const json = (value) => {
  try {
    return String(JSON.stringify(value));
  } catch (error) {
    if (/circular/i.test(error.message)) return '[Circular]';
    throw error;
  }
};

const format = (...args) => {
  const [first, ...rest] = args;
  if (typeof first !== 'string') return args.map((arg) => (typeof arg === 'string' ? arg : inspect(arg))).join(' ');
  if (rest.length === 0) return first;
  const text = first.replace(/%[sdifjoOc%]/g, (mark) => {
    if (mark === '%%') return '%';
    return rest.length === 0 ? mark : one(mark[1], rest.shift());
  });
  return [text, ...rest.map((arg) => (typeof arg === 'string' ? arg : inspect(arg)))].join(' ');
};

const PROMISIFIED = Symbol.for('nodejs.util.promisify.custom');

const promisify = (action) => {
  if (typeof action !== 'function') throw new TypeError('The "original" argument must be of type function.');
  if (action[PROMISIFIED]) return action[PROMISIFIED];
  return function promised(...args) {
    return new Promise((resolve, reject) => {
      Reflect.apply(action, this, [...args, (error, value) => (error ? reject(error) : resolve(value))]);
    });
  };
};
promisify.custom = PROMISIFIED;

const callbackify = (action) => function called(...args) {
  const callback = args.pop();
  Reflect.apply(action, this, args).then((value) => queueMicrotask(() => callback(null, value)),
    (error) => queueMicrotask(() => callback(error ?? new Error('Promise was rejected with a falsy value'))));
};

const inherits = (child, parent) => {
  Object.defineProperty(child, 'super_', { value: parent, writable: true, configurable: true });
  Object.setPrototypeOf(child.prototype, parent.prototype);
};

const deprecate = (action, message) => {
  let said = false;
  return function deprecated(...args) {
    if (!said) console.warn(`DeprecationWarning: ${message}`);
    said = true;
    return Reflect.apply(action, this, args);
  };
};

const tag = (value) => Object.prototype.toString.call(value).slice(8, -1);
const VIEWS = ['Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array', 'Int32Array', 'Uint32Array',
  'Float32Array', 'Float64Array', 'BigInt64Array', 'BigUint64Array'];
const types = {
  isAnyArrayBuffer: (value) => value instanceof ArrayBuffer,
  isArrayBuffer: (value) => value instanceof ArrayBuffer,
  isArrayBufferView: ArrayBuffer.isView,
  isAsyncFunction: (value) => typeof value === 'function' && tag(value) === 'AsyncFunction',
  isBoxedPrimitive: (value) => [Number, String, Boolean, Symbol, BigInt].some((type) => value instanceof type),
  isDate: (value) => value instanceof Date,
  isGeneratorFunction: (value) => typeof value === 'function' && /Generator/.test(tag(value)),
  isMap: (value) => value instanceof Map,
  isNativeError: (value) => value instanceof Error,
  isPromise: (value) => value instanceof Promise,
  isRegExp: (value) => value instanceof RegExp,
  isSet: (value) => value instanceof Set,
  isTypedArray: (value) => ArrayBuffer.isView(value) && !(value instanceof DataView),
  isWeakMap: (value) => value instanceof WeakMap,
  isWeakSet: (value) => value instanceof WeakSet,
};
for (const name of VIEWS) types['is' + name] = (value) => value instanceof globalThis[name];

// Compares two values recursively. `strict` uses `Object.is` and compares prototypes.
const alike = (a, b, strict, seen) => {
  if (strict ? Object.is(a, b) : a == b || (a !== a && b !== b)) return true; // eslint-disable-line eqeqeq
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return false;
  if (strict && Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  if (tag(a) !== tag(b) || Array.isArray(a) !== Array.isArray(b)) return false;
  if (seen.get(a) === b) return true;
  seen.set(a, b);
  const same = (x, y) => alike(x, y, strict, seen);
  if (a instanceof Date && a.getTime() !== b.getTime()) return false;
  if (a instanceof RegExp && String(a) !== String(b)) return false;
  if (a instanceof Error && (a.message !== b.message || a.name !== b.name)) return false;
  if ((a instanceof Number || a instanceof String || a instanceof Boolean) && !Object.is(a.valueOf(), b.valueOf())) return false;
  if (a instanceof Map || a instanceof Set) {
    if (a.size !== b.size) return false;
    const others = [...b];
    const found = [...a].every((item) => {
      const at = others.findIndex((other) => same(item, other));
      if (at !== -1) others.splice(at, 1);
      return at !== -1;
    });
    if (!found) return false;
  }
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length || (Array.isArray(a) && a.length !== b.length)) return false;
  return keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]));
};

const isDeepStrictEqual = (a, b) => alike(a, b, true, new Map());
const stripVTControlCharacters = (text) => String(text).replace(/\u001b\[[0-9;?]*[ -/]*[@-~]/g, '');

module.exports = {
  format, inspect, promisify, callbackify, inherits, deprecate, types, isDeepStrictEqual, stripVTControlCharacters,
  TextEncoder, TextDecoder,
  isArray: Array.isArray,
  toUSVString: (text) => String(text).toWellFormed(),
};
Object.defineProperty(module.exports, '_alike', { value: alike });
