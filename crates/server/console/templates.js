// One template in an editor: its colours, what is wrong with it and where, what can stand there.

import './code.js';
import { send } from './api.js';
import { shown, t } from './text.js';
import { button, fill, h, id as unique, later } from './view.js';
import { plain } from './variables.js';

/** Milliseconds between a key and the question to the server. */
export const SOON = 10;
/** Where tools are called, or texts are long, the questions wait for a pause in the typing. */
export const PAUSE = 350;
export const LONG = 100_000;

/** Does `work` when it is called for; while it is under way, once more after it. */
export function latest(work) {
  let running = false;
  let again = false;
  return async function run() {
    if (running) {
      again = true;
      return;
    }
    running = true;
    do {
      again = false;
      await work();
    } while (again);
    running = false;
  };
}

/** The place in a text of a line and a column, which count from 1, columns in characters. */
export function offset(text, line, column) {
  let start = 0;
  for (let passed = 1; passed < line; passed += 1) {
    const end = text.indexOf('\n', start);
    if (end < 0) return text.length;
    start = end + 1;
  }
  const end = text.indexOf('\n', start);
  const own = [...text.slice(start, end < 0 ? undefined : end)].slice(0, Math.max(0, column - 1));
  return start + own.join('').length;
}

function placed(text, start) {
  const before = text.slice(0, start).split('\n');
  return `${before.length}:${[...before.at(-1)].length + 1}`;
}

/** Where a template names a variable; less than 0 if it does not. */
export function mentioned(text, path) {
  const name = plain(path).replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const found = text.match(new RegExp(`(?<=[{%#][^{}]*?)(?<![\\w])${name}(?![\\w])`));
  return found ? found.index : -1;
}

/**
 * The editor of a template. `format()` is its format now; `edited(text)` is told of each change.
 * `extra`: further findings, `place(text)` gives one with its place, or null;
 * `draw()` shows them, `again()` has the server read the text anew.
 */
export function templateEditor({ label, text, readOnly, signal, format, edited }) {
  const code = document.createElement('q-code');
  const list = h('ul', { class: 'findings', id: unique('l') });
  const part = { code, element: h('div', { class: 'field' }, code, list), read: { tokens: [], findings: [] }, extra: [], draw, again: null };
  // It has no text area before it is in the page.
  queueMicrotask(() => {
    code.value = text;
    code.label = label;
    code.readOnly = readOnly;
    code.describedBy = list.id;
  });
  const ask = (place) => send('POST', 'api/v1/source', { format: format(), text: code.value, ...place }, { signal });
  const read = latest(async () => {
    const seen = code.value;
    let found = { tokens: [], findings: [] };
    try {
      found = await ask({});
    } catch (error) {
      if (error.name === 'AbortError') return;
    }
    if (seen !== code.value) return;
    part.read = found;
    draw();
  });
  const readSoon = later(read, SOON);
  const readLate = later(read, PAUSE);

  function draw() {
    const found = [...part.read.findings, ...part.extra.map((one) => one.place(code.value)).filter(Boolean)];
    code.paint(part.read.tokens, found);
    const rows = found.slice(0, 50).map((one) => {
      const words = t('{place}: {message}', { place: placed(code.value, one.start), message: shown(one.message, 500) });
      return h(
        'li',
        null,
        button(words, () => code.go(one.start), { class: `plain ${one.severity === 'error' ? 'bad' : 'warn'}` }),
        one.help && h('small', null, ` ${shown(one.help, 500)}`),
      );
    });
    fill(list, rows);
  }

  code.complete = async (place) => (await ask({ at: place })).completions ?? [];
  code.addEventListener('edit', () => {
    part.extra = [];
    (code.value.length > LONG ? readLate : readSoon)();
    edited(code.value);
  });
  part.again = readSoon;
  queueMicrotask(readSoon);
  return part;
}
