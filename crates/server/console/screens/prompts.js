// All prompts: a tree by their ids, with search, what is broken and where.

import { get } from '../api.js';
import { address, keep } from '../app.js';
import { shown, t } from '../text.js';
import { field, h, link } from '../view.js';

export default async function prompts({ query, signal }) {
  const all = await get('api/v1/prompts?detail=true', { signal });
  const list = h('q-list');
  const search = h('input', { type: 'search', '.value': query.get('q') ?? '', oninput: () => draw() });
  const count = h('p', { class: 'quiet', role: 'status' });

  function draw() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    keep({ q: search.value });
    const found = all.filter((one) => words.every((word) => one.id.toLowerCase().includes(word)));
    count.textContent = t('{found} of {all} prompts', { found: found.length, all: all.length });
    list.show({
      label: t('Prompts'),
      items: found,
      row: (one) => ({
        href: address(['prompts', one.id]),
        cells: [
          h('bdi', { class: 'grow' }, shown(one.id, 200)),
          one.status === 'invalid' && h('span', { class: 'badge bad' }, t('broken')),
        ],
      }),
    });
  }

  draw();
  return [
    h('div', { class: 'row' }, h('h1', { class: 'grow' }, t('Prompts')), link(t('New prompt'), address(['prompts', ''], { new: 1 }))),
    field(t('Search'), search),
    count,
    list,
  ];
}
