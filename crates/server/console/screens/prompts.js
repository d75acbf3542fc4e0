// All prompts as a tree or a list, with search and diagnostics.

import { get, path as at } from '../api.js';
import { address, go, keep } from '../app.js';
import { FORMATS } from '../definition.js';
import { number, shown, t, when } from '../text.js';
import { button, field, fill, h, later, link, select, textOf } from '../view.js';
import { folders, grown, rowsOf } from '../tree.js';

/** Folders that the user expanded. Kept until the page is closed. */
const opened = new Set();
/** Up to this number of prompts, all folders start expanded. */
const FEW = 60;
/** Milliseconds without scrolling before details of visible rows load, and concurrent loads. */
const SEEN = 150;
const AT_ONCE = 3;

export default async function prompts({ path, query, signal }) {
  if (path.length > 1) return (await import('./prompt.js')).default({ path, query, signal });
  if (query.get('new')) return create(query);
  const all = await get('api/v1/prompts?detail=true', { signal });
  const list = h('q-list');
  const search = h('input', { type: 'search', '.value': query.get('q') ?? '' });
  const state = select([['', t('all')], ['valid', t('valid')], ['invalid', t('invalid')]], query.get('state') ?? '', () => draw());
  const shape = select([['', t('Tree')], ['list', t('List')]], query.get('as') ?? '', () => draw());
  const count = h('p', { class: 'quiet', role: 'status' });
  const details = seen(signal);
  let inText = { words: '', ids: new Set() };
  const small = new Map(all.map((one) => [one, `${one.id}\n${one.title ?? ''}`.toLowerCase()]));
  let tree = { found: all, root: grown(all) };
  if (all.length <= FEW) for (const folder of folders(tree.root)) opened.add(folder);

  const searchSoon = later(async () => {
    const words = textOf(search).trim();
    if (words === '' || words === inText.words) return;
    const found = await get(`api/v1/prompts?${new URLSearchParams({ q: words })}`, { signal }).catch(() => []);
    if (words !== textOf(search).trim()) return;
    inText = { words, ids: new Set(found) };
    draw();
  }, 200);
  search.addEventListener('input', () => (draw(), searchSoon()));

  function draw(kept = false) {
    const text = textOf(search).trim();
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    keep({ q: text, state: textOf(state), as: textOf(shape) });
    const [wanted, isTree] = [textOf(state), textOf(shape) === ''];
    const here = (one) => words.every((word) => small.get(one).includes(word));
    const is = (one) => (wanted === '' || one.status === wanted) && (words.length === 0 || here(one) || (inText.words === text && inText.ids.has(one.id)));
    const found = wanted === '' && words.length === 0 ? all : all.filter(is);
    count.textContent = t('{found} of {all} prompts', { found: number(found.length), all: number(all.length) });
    // Expanding a folder does not change the tree.
    if (isTree && tree.found !== found) tree = { found, root: grown(found) };
    const isOpen = (prefix) => words.length > 0 || opened.has(prefix);
    list.show({
      label: t('Prompts'),
      items: isTree ? rowsOf(tree.root, isOpen) : found.map((prompt) => ({ prompt, label: prompt.id })),
      tree: isTree,
      kept: kept === true,
      toggle(item) {
        if (words.length > 0) return;
        if (!opened.delete(item.prefix)) opened.add(item.prefix);
        draw(true);
      },
      row: (item) => (item.prompt ? promptRow(item, details) : folderRow(item)),
    });
  }

  draw();
  searchSoon();
  return [
    h('div', { class: 'row' }, h('h1', { class: 'grow' }, t('Prompts')), link(t('New prompt'), address(['prompts'], { new: 1 }))),
    h('div', { class: 'row' }, h('div', { class: 'grow' }, field(t('Search IDs, titles and text'), search)), field(t('Status'), state), field(t('View'), shape)),
    all.length === 0
      ? h('p', null, t('No prompts. Create one here, write one with PUT /api/v1/prompts/ID, or add files to prompts/ in a store folder.'))
      : [count, list],
  ];
}

function promptRow(item, details) {
  const { prompt } = item;
  const broken = prompt.status === 'invalid';
  const found = broken && (prompt.diagnostics.find((one) => one.severity === 'error') ?? prompt.diagnostics[0]);
  const place = found && [found.source, found.line, found.column].filter((part) => part !== undefined).join(':');
  return {
    href: address(['prompts', prompt.id]),
    cells: [
      h('bdi', { class: 'grow' }, shown(item.label, 200), prompt.title && prompt.title !== item.label && h('span', { class: 'quiet' }, ` ${shown(prompt.title, 100)}`)),
      broken && h('span', { class: 'badge bad' }, t('invalid')),
      found && h('span', { class: 'wide quiet', title: shown(found.message, 300) }, shown(`${place} ${found.message}`, 80)),
      details(prompt),
    ],
  };
}

function folderRow(item) {
  return {
    href: address(['prompts'], { q: item.prefix }),
    cells: [
      h('span', { class: 'fold', 'aria-hidden': 'true' }, item.expanded ? '▾' : '▸'),
      h('bdi', { class: 'grow' }, shown(item.label, 200)),
      item.broken > 0 && h('span', { class: 'badge bad' }, t('invalid: {count}', { count: number(item.broken) })),
      h('span', { class: 'quiet' }, t('prompts: {count}', { count: number(item.count) })),
    ],
  };
}

/**
 * Loads the labels and the latest author of visible rows. Waits until scrolling stops, loads a few at a
 * time, and skips rows that are no longer visible.
 */
function seen(signal) {
  const known = new Map();
  let waiting = [];
  let asking = 0;
  const rest = later(() => {
    waiting = waiting.filter(({ element }) => element.isConnected);
    while (asking < AT_ONCE && waiting.length > 0) work();
  }, SEEN);

  async function work() {
    asking += 1;
    for (let next = waiting.shift(); next && !signal.aborted; next = waiting.shift()) {
      if (next.element.isConnected) await look(next);
    }
    asking -= 1;
  }

  async function look({ element, id }) {
    const base = at`api/v1/prompts/${id}`;
    const [versions, labels] = await Promise.all([`${base}/versions?limit=1`, `${base}/labels`].map((one) => get(one, { signal }).catch(() => null)));
    const newest = versions?.versions[0];
    const made = () => [
      Object.keys(labels?.labels ?? {}).slice(0, 4).map((label) => [h('span', { class: 'badge' }, shown(label, 40)), ' ']),
      newest && t('{author}, {time}', { author: shown(newest.author, 40), time: when(newest.created) }),
    ];
    known.set(id, made);
    fill(element, made());
  }

  return function details({ id }) {
    const element = h('span', { class: 'wide quiet' });
    if (known.has(id)) return fill(element, known.get(id)());
    waiting.push({ element, id });
    rest();
    return element;
  };
}

/** Creates the form for a new prompt. The prompt is stored on its first save. */
function create(query) {
  const id = h('input', { type: 'text', required: true, autocomplete: 'off', spellcheck: 'false', '.value': query.get('id') ?? '' });
  const kind = select([['text', t('Single template')], ['messages', t('List of messages')], ['script', t('Script')]], 'text', () => {});
  const format = select(FORMATS, 'go', () => {});
  return [
    h('h1', null, t('New prompt')),
    h(
      'form',
      {
        onsubmit(event) {
          event.preventDefault();
          const name = textOf(id).trim();
          if (name) go(['prompts', name], { tab: 'edit', new: textOf(kind), format: textOf(kind) === 'script' ? '' : textOf(format) });
        },
      },
      field(t('ID'), id, t('Dots separate folder names: greet.hello appears in the folder greet.')),
      field(t('Kind'), kind),
      field(t('Format'), format),
      h('div', { class: 'row' }, h('button', { class: 'main' }, t('Create prompt')), button(t('Cancel'), () => go(['prompts']))),
    ),
  ];
}
