// Reads conformance vectors for Node. Unlike `JSON.parse`, it distinguishes integers from fractions
// and keeps the order of keys.

import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { float } from 'quillet';

const folder = process.env.QUILLET_CONFORMANCE;
export const conformance = pathToFileURL(`${folder}/`);

/** Parses a file's JSON. With `floats`, every number is floating-point, as in Go. */
export function read(name, floats = false) {
  const text = readFileSync(new URL(name, conformance), 'utf8');
  // Numbers outside strings (strings are matched first) become marked strings.
  const marked = text.replace(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g, (token) =>
    token[0] === '"' ? token : `"\\u0000${token}"`,
  );
  return JSON.parse(marked, (_, value) => {
    if (typeof value === 'string' && value[0] === '\0') return number(value.slice(1), floats);
    return value;
  });
}

function number(text, floats) {
  if (!floats && /^-?\d+$/.test(text)) {
    const whole = BigInt(text);
    if (BigInt.asIntN(64, whole) === whole)
      return Number.isSafeInteger(Number(text)) ? Number(text) : whole;
  }
  return float(Number(text));
}

/**
 * Converts the data of a vector. A JavaScript object puts number-like keys first; a `Map` keeps the
 * order.
 */
export function data(value) {
  if (Array.isArray(value)) return value.map(data);
  if (
    value === null ||
    typeof value !== 'object' ||
    Object.getPrototypeOf(value) !== Object.prototype
  )
    return value;
  const entries = Object.entries(value).map(([key, field]) => [key, data(field)]);
  return entries.some(([key]) => /^\d+$/.test(key))
    ? new Map(entries)
    : Object.fromEntries(entries);
}

/** Plain data for the vectors' own functions, which do not distinguish number types. */
export function plain(value) {
  return JSON.parse(
    JSON.stringify(value, (_, field) => (typeof field === 'bigint' ? Number(field) : field)),
  );
}
