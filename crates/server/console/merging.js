// Two people have changed the same prompt: both texts, and one of them for both.

import './code.js';
import { fromDocument, toDocument } from './definition.js';
import { conflicts, difference, merge } from './merge.js';
import { number, shown, t } from './text.js';
import { button, fill, h } from './view.js';

/** A difference as lines with signs; long runs of the same are left out. */
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
  return h('pre', { class: 'diff card', tabindex: 0, role: 'region', 'aria-label': label }, changed ? rows : t('No difference.'));
}

/**
 * The view of a merge. `theirs`: `{ definition, version, author, message }`; `done(definition)` is
 * called with what both became, or with null when one goes back to one's own text.
 */
export function mergeView({ base, mine, theirs, done }) {
  const texts = [base ?? (typeof mine === 'string' ? '' : {}), mine, theirs.definition].map(toDocument);
  const names = [t('mine'), t('version {number}', { number: theirs.version })];
  const merged = merge(...texts, names);
  const code = document.createElement('q-code');
  const status = h('p', { role: 'status' });
  const choices = h('div', { class: 'row' });
  const wrong = h('div');
  const accept = button(t('Go on with this text'), take, { class: 'main' });

  function put(text) {
    code.value = text;
    check();
  }

  function check() {
    const open = conflicts(code.value);
    status.textContent = open.length ? t('{count} conflicts are open: keep one side, or write what both mean.', { count: number(open.length) }) : t('No conflict is open.');
    accept.disabled = open.length > 0;
    code.paint([], open.map(({ start, end }) => ({ start, end, severity: 'error', message: '' })));
    fill(
      choices,
      open.slice(0, 20).map((one, index) => [
        button(t('Conflict {number}', { number: index + 1 }), () => code.go(one.start), { class: 'plain' }),
        button(t('Keep mine'), () => replace(one, one.mine), { 'aria-label': t('Keep mine in conflict {number}', { number: index + 1 }) }),
        button(t('Keep theirs'), () => replace(one, one.theirs), { 'aria-label': t('Keep theirs in conflict {number}', { number: index + 1 }) }),
        button(t('Keep both'), () => replace(one, one.mine + one.theirs), { 'aria-label': t('Keep both in conflict {number}', { number: index + 1 }) }),
      ]),
    );
  }

  function replace({ start, end }, text) {
    const all = code.value;
    // A conflict at the very end has no line break of its own.
    const kept = end === all.length && !all.endsWith('\n') ? text.replace(/\n$/, '') : text;
    put(all.slice(0, start) + kept + all.slice(end));
    (choices.querySelector('button') ?? accept).focus();
  }

  function take() {
    try {
      // A prompt file is one text already.
      done(typeof mine === 'string' ? code.value : fromDocument(code.value, Object.keys(mine ?? {})));
    } catch (error) {
      fill(wrong, h('p', { class: 'bad', role: 'alert' }, t('This cannot be read as a definition: {why}', { why: error.message })));
    }
  }

  code.addEventListener('edit', check);
  queueMicrotask(() => {
    code.label = t('Both changes in one text');
    put(merged.text);
  });
  return h(
    'section',
    { class: 'merge' },
    h('h2', { tabindex: -1 }, t('Somebody else has saved version {number}', { number: theirs.version })),
    h('p', null, t('By {author}. Your text is kept; nothing is written until you save again.', { author: shown(theirs.author ?? '', 80) }), ' ', h('bdi', null, shown(theirs.message ?? '', 300))),
    h(
      'div',
      { class: 'columns' },
      h('div', null, h('h3', null, t('What they changed')), differenceView(texts[0], texts[2], t('What they changed'))),
      h('div', null, h('h3', null, t('What you changed')), differenceView(texts[0], texts[1], t('What you changed'))),
    ),
    h('h3', null, t('Both changes in one text')),
    status,
    choices,
    code,
    wrong,
    h(
      'div',
      { class: 'row' },
      accept,
      button(t('Take mine whole'), () => put(texts[1])),
      button(t('Take theirs whole'), () => put(texts[2])),
      button(t('Back to my text'), () => done(null)),
    ),
  );
}
