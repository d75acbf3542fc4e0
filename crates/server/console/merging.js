// Merge view for two concurrent changes of a prompt.

import './code.js';
import { fromDocument, toDocument } from './definition.js';
import { conflicts, difference, merge } from './merge.js';
import { number, shown, t } from './text.js';
import { button, fill, h } from './view.js';

/** Renders a line difference. Omits long unchanged parts. */
export function differenceView(before, after, label) {
  const lines = difference(before, after);
  const near = new Set();
  lines.forEach(([sign], index) => {
    if (sign === ' ') return;
    for (let by = -3; by <= 3; by += 1) near.add(index + by);
  });
  const rows = [];
  let left = false;
  for (let index = 0; index < lines.length && rows.length < 4000; index += 1) {
    if (!near.has(index)) {
      if (!left) rows.push(h('span', { class: 'quiet' }, '⋯'));
      left = true;
      continue;
    }
    left = false;
    const [sign, line] = lines[index];
    rows.push(h('span', { class: { '+': 'plus', '-': 'minus' }[sign] }, `${sign} ${shown(line, 20_000)}`));
  }
  const changed = near.size > 0;
  return h('pre', { class: 'diff card', tabindex: 0, role: 'region', 'aria-label': label }, changed ? rows : t('No differences.'));
}

/**
 * Creates the merge view. `theirs` is `{ definition, version, author, message }`. `done(definition)`
 * receives the merged definition, or null if the user cancels the merge.
 */
export function mergeView({ base, mine, theirs, done }) {
  const texts = [base ?? (typeof mine === 'string' ? '' : {}), mine, theirs.definition].map(toDocument);
  const names = [t('mine'), t('version {number}', { number: theirs.version })];
  const merged = merge(...texts, names);
  const code = document.createElement('q-code');
  const status = h('p', { role: 'status' });
  const choices = h('div', { class: 'row' });
  const wrong = h('div');
  const accept = button(t('Use merged text'), take, { class: 'main' });

  function put(text) {
    code.value = text;
    check();
  }

  function check() {
    const open = conflicts(code.value);
    status.textContent = open.length ? t('Unresolved conflicts: {count}. Keep one side, or edit the text.', { count: number(open.length) }) : t('No conflicts.');
    accept.disabled = open.length > 0;
    code.paint([], open.map(({ start, end }) => ({ start, end, severity: 'error', message: '' })));
    fill(
      choices,
      open.slice(0, 20).map((one, index) => [
        button(t('Go to conflict {number}', { number: index + 1 }), () => code.go(one.start), { class: 'plain' }),
        button(t('Keep mine'), () => replace(index, ({ mine }) => mine), { 'aria-label': t('Keep mine in conflict {number}', { number: index + 1 }) }),
        button(t('Keep theirs'), () => replace(index, ({ theirs }) => theirs), { 'aria-label': t('Keep theirs in conflict {number}', { number: index + 1 }) }),
        button(t('Keep both'), () => replace(index, ({ mine, theirs }) => mine + theirs), { 'aria-label': t('Keep both in conflict {number}', { number: index + 1 }) }),
      ]),
    );
  }

  /** Replaces a conflict with the chosen text. Line endings stay as they are. */
  function replace(index, choose) {
    const all = code.text;
    const { start, end, ...sides } = conflicts(all)[index];
    const text = choose(sides);
    // A conflict at the end of the text has no final line break.
    const kept = end === all.length && !all.endsWith('\n') ? text.replace(/\r?\n$/, '') : text;
    put(all.slice(0, start) + kept + all.slice(end));
    (choices.querySelector('button') ?? accept).focus();
  }

  function take() {
    try {
      // A prompt file is edited as one text.
      done(typeof mine === 'string' ? code.text : fromDocument(code.text, Object.keys(mine ?? {})));
    } catch (error) {
      fill(wrong, h('p', { class: 'bad', role: 'alert' }, t('Invalid definition: {why}', { why: error.message })));
    }
  }

  code.addEventListener('edit', check);
  queueMicrotask(() => {
    code.label = t('Merged text');
    put(merged.text);
  });
  return h(
    'section',
    { class: 'merge' },
    h('h2', { tabindex: -1 }, t('Someone else saved version {number}', { number: theirs.version })),
    h('p', null, t('Saved by {author}. Your text is kept, and nothing is written until you save again.', { author: shown(theirs.author ?? '', 80) }), ' ', h('bdi', null, shown(theirs.message ?? '', 300))),
    h(
      'div',
      { class: 'columns' },
      h('div', null, h('h3', null, t('Their changes')), differenceView(texts[0], texts[2], t('Their changes'))),
      h('div', null, h('h3', null, t('Your changes')), differenceView(texts[0], texts[1], t('Your changes'))),
    ),
    h('h3', null, t('Merged text')),
    status,
    choices,
    code,
    wrong,
    h(
      'div',
      { class: 'row' },
      accept,
      button(t('Use all of mine'), () => put(texts[1])),
      button(t('Use all of theirs'), () => put(texts[2])),
      button(t('Cancel merge'), () => done(null)),
    ),
  );
}
