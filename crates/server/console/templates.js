// Template editor with highlighting, diagnostics and completions.

import './code.js';
import { send } from './api.js';
import { shown, t } from './text.js';
import { button, fill, h, id as unique, later } from './view.js';
import { plain } from './variables.js';

/** Milliseconds between a key press and the request to the server. */
export const SOON = 10;
/** If the prompt calls tools or the text is long, requests wait for a pause in typing. */
export const PAUSE = 350;
export const LONG = 100_000;

/** Runs `work` when called. A call during a run starts one more run after it. */
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

/** Returns the offset of a line and column. Both start at 1, and columns count characters. */
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

/** Returns the offset where a template uses a variable, or -1. */
export function mentioned(text, path) {
  const name = plain(path).replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const found = text.match(new RegExp(`(?<=[{%#][^{}]*?)(?<![\\w])${name}(?![\\w])`));
  return found ? found.index : -1;
}

/**
 * Creates a template editor. `format()` returns the current format. `edited(text)` receives each change.
 * `extra` holds additional findings, each with `place(text)`, which returns a finding with offsets or null.
 * `draw()` shows them, and `again()` sends the text to the server again.
 */
export function templateEditor({ label, text, readOnly, signal, format, edited }) {
  const code = document.createElement('q-code');
  const list = h('ul', { class: 'findings', id: unique('l') });
  const part = { code, element: h('div', { class: 'field' }, code, list), read: { tokens: [], findings: [] }, extra: [], draw, again: null };
  // The element has no text area until it is in the page.
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
    edited(code.text);
  });
  part.again = readSoon;
  queueMicrotask(readSoon);
  return part;
}
