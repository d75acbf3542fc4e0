'use strict';
// Encodes values for the engine: words that describe the structure, and one text that contains all
// strings. `bridge/src/decode.rs` decodes them. A value of any size crosses in one call, and
// objects with equal keys name them only once.
//
// A template caches its last variables, leaf by leaf. A list or object equal to the one at the same
// position is encoded as one word. Only the new messages of a growing conversation cross.

const { refused } = require('./errors');

/**
 * A floating-point number, whatever its value: formats that distinguish them print `3.0`.
 */
class Float {
  constructor(value) {
    this.value = value;
  }
}

// The three low bits of a word are its kind; the other bits are a length, a number or an index.
const STRING = 0;
const INTEGER = 1;
const LIST = 2;
const SHAPED = 3;
const OBJECT = 4;
const OTHER = 5;
const KEPT = 6;

const NULL = OTHER | (0 << 3);
const FALSE = OTHER | (1 << 3);
const TRUE = OTHER | (2 << 3);
const FLOAT = OTHER | (3 << 3);
const LONG = OTHER | (4 << 3);

/** Bound of the integers that fit next to the three kind bits. */
const SMALL = 2 ** 28;
/** Maximum nesting of lists and objects; the same limit as in the engine. */
const MAX_DEPTH = 128;
/**
 * Maximum words of one render, and UTF-16 units of its strings. An object with several references
 * counts each time.
 */
const MAX_WORDS = 8 << 20;
const MAX_UNITS = 64 << 20;
/** Maximum number of registered shapes, and of keys in one shape. */
const MAX_SHAPES = 4096;
const MAX_SHAPE_KEYS = 64;
/** Maximum leaves and text units of cached variables; larger variables are not cached. */
const MAX_REMEMBERED = 8192;
const MAX_REMEMBERED_UNITS = 256 << 10;

/** Use of the engine's cache: unchanged, used and replaced, or used and cleared. */
const ONCE = 0;
const REMEMBER = 1;
const FORGET = 2;

/** Lists and objects are compared with the cached ones down to this level. */
const MAX_COMPARED_DEPTH = 4;

/**
 * Markers in the cache for the start of a list, and of an object with unregistered keys.
 */
const A_LIST = Symbol('list');
const AN_OBJECT = Symbol('object');
/** Offsets after a start marker: its number, its end, and its size. */
const NUMBER = 1;
const END = 2;
const CONTAINERS = 3;
const UNITS = 4;
const HEAD = 5;

/** A prefix of an object's keys, as a node of a trie. */
class Shape {
  constructor(before, last) {
    this.number = -1;
    this.before = before;
    this.last = last;
    this.size = before === null ? 0 : before.size + 1;
    // All keys, once an object has exactly these.
    this.keys = undefined;
    // The key that followed last, which usually follows again.
    this.key = undefined;
    this.next = undefined;
    this.others = undefined;
  }

  /** Returns the shape with one more key, if it is registered. */
  find(key) {
    const found = this.others?.get(key);
    if (found === undefined) return undefined;
    this.key = key;
    this.next = found;
    return found;
  }

  add(key) {
    const shape = new Shape(this, key);
    this.others ??= new Map();
    this.others.set(key, shape);
    this.key = key;
    this.next = shape;
    return shape;
  }
}

function createEncoder(native) {
  const number = native.encoder();
  const long = new BigInt64Array(1);
  const float = new Float64Array(long.buffer);
  const halves = new Int32Array(long.buffer);

  let shapes = new Shape(null, undefined);
  let shapeCount = 0;
  let active = false;
  // Whether `Object.prototype` has enumerable fields, which a loop over fields would include.
  let polluted = false;

  // The current value: its words and text, and the size of the text including cached parts.
  let words = new Int32Array(4096);
  let count = 0;
  let text = '';
  let units = 0;
  let allUnits = 0;
  let trail = [];
  // The cache, and how much of it is updated: leaves, and lists and objects.
  let leaves = null;
  let leaf = 0;
  let container = 0;
  // Number of leading leaves known to be unchanged.
  let verified = 0;

  /** Whether a value equals the template's whole cache, so nothing has to cross. */
  function unchanged(value, memory) {
    if (active || memory.length === 0) return false;
    leaves = memory;
    leaf = 0;
    container = 0;
    active = true;
    polluted = inherited();
    verified = 0;
    try {
      if (same(value) && leaf === memory.length) return true;
      // The last leaf compared may be the one that differs.
      verified = leaf - 1;
      return false;
    } finally {
      active = false;
      leaves = null;
    }
  }

  /**
   * Encodes a value, passes it to `use(number, words, count, text, units, mode)`, and returns the
   * result of `use`. `memory` is the template's cache, an array that is empty at first, or `null`
   * to disable caching.
   */
  function encode(root, value, memory, use) {
    // A getter or `toJSON` of the value may itself start a render.
    const outer = active
      ? { words, count, text, units, allUnits, trail, leaves, leaf, container, verified }
      : null;
    if (outer) {
      words = new Int32Array(256);
      trail = [];
      memory = null;
    }
    if (memory === null) verified = 0;
    active = true;
    count = 0;
    text = '';
    units = 0;
    allUnits = 0;
    leaves = memory;
    leaf = 0;
    container = 0;
    if (shapeCount >= MAX_SHAPES && !outer) {
      native.forgetShapes(number);
      shapes = new Shape(null, undefined);
      shapeCount = 0;
    }
    trail[0] = root;
    polluted = inherited();
    try {
      write(value, 1);
      let mode = ONCE;
      if (memory !== null) {
        const small = leaves !== null && allUnits <= MAX_REMEMBERED_UNITS;
        mode = small ? REMEMBER : FORGET;
        memory.length = small ? leaf : 0;
      }
      return use(number, words, count, text, units, mode);
    } catch (error) {
      if (memory !== null) memory.length = 0;
      throw error;
    } finally {
      text = '';
      leaves = null;
      verified = 0;
      if (outer) {
        ({ words, count, text, units, allUnits, trail, leaves, leaf, container, verified } = outer);
      } else {
        active = false;
        if (words.length > 1 << 20) words = new Int32Array(4096);
      }
    }
  }

  function write(value, depth) {
    if (count + 4 > words.length) grow();
    switch (typeof value) {
      case 'string': {
        const length = value.length;
        words[count++] = length << 3;
        text += value;
        units += length;
        allUnits += length;
        if (allUnits > MAX_UNITS) throw tooLarge();
        remember(value);
        return;
      }
      case 'number':
        if ((value | 0) === value && value < SMALL && value >= -SMALL) {
          words[count++] = (value << 3) | INTEGER;
        } else {
          writeNumber(value, depth);
        }
        remember(value);
        return;
      case 'boolean':
        words[count++] = value ? TRUE : FALSE;
        remember(value);
        return;
      case 'undefined':
        words[count++] = NULL;
        remember(null);
        return;
      case 'object':
        if (value === null) {
          words[count++] = NULL;
          remember(null);
        } else if (!kept(value, depth)) {
          if (Array.isArray(value)) writeList(value, depth);
          else writeObject(value, depth);
        }
        return;
      case 'bigint':
        if (BigInt.asIntN(64, value) !== value) {
          throw unfit(
            depth,
            `is ${clip(value)}n, which does not fit 64 bits`,
            'pass it as text: String(value)',
          );
        }
        writeLong(value);
        remember(value);
        return;
      case 'function':
        throw unfit(depth, 'is a function', 'pass functions that templates call as `tools`');
      default:
        throw unfit(depth, 'is a symbol', 'give its description as text');
    }
  }

  function remember(value) {
    // A getter returned a different value than a moment ago, so the cache is no longer valid.
    if (leaf < verified && leaves[leaf] !== value) verified = 0;
    put(value);
  }

  function put(value) {
    if (leaves === null) return;
    if (leaf < MAX_REMEMBERED) leaves[leaf++] = value;
    else leaves = null;
  }

  /** Whether a value equals the cached one at this position. If so, moves past it. */
  function same(value) {
    if (typeof value !== 'object' || value === null) {
      if (typeof value === 'string') allUnits += value.length;
      return leaves[leaf++] === (value === undefined ? null : value);
    }
    return Array.isArray(value) ? sameList(value) : sameObject(value);
  }

  function sameList(list) {
    const { length } = list;
    if (
      leaves[leaf] !== A_LIST ||
      leaves[leaf + NUMBER] !== container ||
      leaves[leaf + HEAD] !== length
    ) {
      return false;
    }
    leaf += HEAD + 1;
    container++;
    for (let index = 0; index < length; index++) {
      if (!same(list[index])) return false;
    }
    return true;
  }

  function sameObject(object) {
    const shape = leaves[leaf];
    if (!(shape instanceof Shape) || leaves[leaf + NUMBER] !== container) return false;
    const prototype = Object.getPrototypeOf(object);
    if ((prototype !== Object.prototype || polluted) && prototype !== null) return false;
    leaf += HEAD;
    container++;
    const { keys } = shape;
    let index = 0;
    for (const key in object) {
      const value = object[key];
      if (value === undefined) continue;
      if (keys[index++] !== key || !same(value)) return false;
    }
    return index === keys.length;
  }

  /** Writes one word for an unchanged list or object. */
  function kept(value, depth) {
    if (leaves === null || depth === 1) return false;
    const [startLeaf, startContainer, startUnits] = [leaf, container, allUnits];
    if (leaf < verified && leaves[leaf + NUMBER] !== container) verified = 0;
    if (leaf < verified) {
      // Already compared with all variables: it is unchanged, or contains the difference.
      if (leaves[leaf + END] > verified) return false;
      container += leaves[leaf + CONTAINERS];
      allUnits += leaves[leaf + UNITS];
      leaf = leaves[leaf + END];
    } else if (depth > MAX_COMPARED_DEPTH || !same(value)) {
      [leaf, container, allUnits] = [startLeaf, startContainer, startUnits];
      return false;
    }
    words[count++] = ((container - startContainer) << 3) | KEPT;
    return true;
  }

  /** Starts a list or an object. Returns the position of its start in the cache. */
  function beginning(mark) {
    const start = leaf;
    put(mark);
    put(container++);
    put(0);
    put(0);
    put(0);
    return start;
  }

  /** Ends it, given the number of containers and units before it. */
  function ending(start, mark, containers, allBefore) {
    if (leaves === null) return;
    leaves[start] = mark;
    leaves[start + END] = leaf;
    leaves[start + CONTAINERS] = container - containers;
    leaves[start + UNITS] = allUnits - allBefore;
  }

  function writeNumber(value, depth) {
    if (Number.isSafeInteger(value)) {
      writeLong(BigInt(value));
    } else {
      writeFloat(value, depth);
    }
  }

  function writeFloat(value, depth) {
    if (!Number.isFinite(value)) {
      throw unfit(
        depth,
        `is ${value}, which JSON cannot represent`,
        'omit it, or pass it as text',
      );
    }
    float[0] = value;
    words[count++] = FLOAT;
    words[count++] = halves[0];
    words[count++] = halves[1];
  }

  function writeLong(value) {
    long[0] = value;
    words[count++] = LONG;
    words[count++] = halves[0];
    words[count++] = halves[1];
  }

  function writeList(list, depth) {
    enter(depth);
    const { length } = list;
    const [containers, allBefore] = [container, allUnits];
    const start = beginning(A_LIST);
    words[count++] = (length << 3) | LIST;
    remember(length);
    for (let index = 0; index < length; index++) {
      trail[depth] = index;
      write(list[index], depth + 1);
    }
    ending(start, A_LIST, containers, allBefore);
  }

  function writeObject(object, depth) {
    enter(depth);
    const prototype = Object.getPrototypeOf(object);
    if ((prototype !== Object.prototype || polluted) && prototype !== null) {
      writeUnusual(object, depth);
      return;
    }
    const [startCount, startText, startUnits] = [count++, text, units];
    const [containers, allBefore] = [container, allUnits];
    const start = beginning(undefined);
    let shape = shapes;
    // All fields are own properties; this loop is faster than listing the keys.
    for (const key in object) {
      const value = object[key];
      if (value === undefined) continue;
      shape = shape.key === key ? shape.next : (shape.find(key) ?? addShape(shape, key));
      if (shape === undefined) {
        [count, text, units] = [startCount, startText, startUnits];
        leaves = null;
        verified = 0;
        writeFields(Object.entries(object), depth);
        return;
      }
      trail[depth] = key;
      write(value, depth + 1);
    }
    if (shape.number < 0) nameShape(shape);
    words[startCount] = (shape.number << 3) | SHAPED;
    ending(start, shape, containers, allBefore);
  }

  function addShape(shape, key) {
    if (shapeCount >= MAX_SHAPES || shape.size >= MAX_SHAPE_KEYS) return undefined;
    shapeCount++;
    return shape.add(key);
  }

  function nameShape(shape) {
    const keys = [];
    for (let at = shape; at.before !== null; at = at.before) keys.push(at.last);
    shape.keys = keys.reverse();
    shape.number = native.shape(number, shape.keys);
  }

  /** An object with its keys written out: an instance of a class, or one with very many keys. */
  function writeFields(entries, depth) {
    const [startCount, containers, allBefore] = [count++, container, allUnits];
    const start = beginning(AN_OBJECT);
    let fields = 0;
    for (const [key, value] of entries) {
      if (value === undefined) continue;
      if (typeof key !== 'string')
        throw unfit(depth, 'is a Map with a key that is not a string', 'give strings as keys');
      fields++;
      if (count + 4 > words.length) grow();
      words[count++] = key.length;
      text += key;
      units += key.length;
      allUnits += key.length;
      trail[depth] = key;
      write(value, depth + 1);
    }
    words[startCount] = (fields << 3) | OBJECT;
    ending(start, AN_OBJECT, containers, allBefore);
  }

  /**
   * An object that is not plain: encodes what `JSON.stringify` would write, if that is complete.
   */
  function writeUnusual(object, depth) {
    if (object instanceof Float) {
      writeFloat(Number(object.value), depth);
      remember(AN_OBJECT);
    } else if (object instanceof String || object instanceof Number || object instanceof Boolean) {
      write(object.valueOf(), depth);
    } else if (object instanceof Map) {
      writeFields(object, depth);
    } else if (object instanceof Set) {
      writeList([...object], depth);
    } else if (ArrayBuffer.isView(object) || object instanceof ArrayBuffer) {
      throw unfit(
        depth,
        `is ${kindOf(object)}`,
        'decode it to text: new TextDecoder().decode(bytes)',
      );
    } else if (typeof object.then === 'function') {
      throw unfit(depth, 'is a promise', 'await it first');
    } else {
      const plain =
        typeof object.toJSON === 'function' ? object.toJSON(String(trail[depth - 1])) : object;
      if (plain === object) {
        writeFields(Object.entries(object), depth);
      } else {
        trail[depth] = 'toJSON()';
        write(plain, depth + 1);
      }
    }
  }

  function enter(depth) {
    if (depth > MAX_DEPTH) {
      throw unfit(depth, `is nested deeper than ${MAX_DEPTH} levels`, 'it may contain itself');
    }
  }

  function grow() {
    if (words.length >= MAX_WORDS) throw tooLarge();
    const larger = new Int32Array(words.length * 2);
    larger.set(words);
    words = larger;
  }

  function unfit(depth, what, hint) {
    return refused('value.kind', `${path(trail, depth)} ${what}`, hint);
  }

  function tooLarge() {
    return refused(
      'value.size',
      `${trail[0]}: more than ${MAX_WORDS} values or ${MAX_UNITS} characters`,
      'an object counts once for each reference to it',
    );
  }

  return { encode, unchanged };
}

function inherited() {
  for (const _ in Object.prototype) return true;
  return false;
}

/** Path of a value in JavaScript notation. */
function path(trail, length) {
  const step = (key) => {
    if (typeof key === 'number') return `[${key}]`;
    return /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(key)
      ? `.${key}`
      : `[${clip(JSON.stringify(key))}]`;
  };
  return (
    trail[0] + trail.slice(1, Math.min(length, 12)).map(step).join('') + (length > 12 ? '…' : '')
  );
}

function clip(value) {
  const text = String(value);
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

function kindOf(object) {
  const name = object.constructor?.name;
  return typeof name === 'string' && name !== '' ? `a ${clip(name)}` : 'binary data';
}

module.exports = { createEncoder, Float };
