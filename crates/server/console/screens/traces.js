// Traces: the list with filters, and one trace as a tree of spans.

import { get, path as at } from '../api.js';
import { address, keep, problem } from '../app.js';
import '../list.js';
import { money, number, shown, t, took, when } from '../text.js';
import { button, field, fill, h, later, select, textOf } from '../view.js';
import { trace } from '../trace.js';

const PAGE = 200;
const HOUR = 3_600_000;
/** Time ranges of the filter. */
const SPANS = [['', 'Any time'], [String(HOUR), 'Last hour'], [String(24 * HOUR), 'Last 24 hours'], [String(7 * 24 * HOUR), 'Last 7 days']];

export default async function traces({ path, query, signal }) {
  if (path.length > 1) return trace(await get(at`v1/traces/${path[1]}`, { signal }), query);

  const list = h('q-list', { class: 'fit' });
  const said = h('p', { class: 'quiet', role: 'status' });
  const failure = h('div');
  const text = h('input', { type: 'search', '.value': query.get('text') ?? '', oninput: later(() => load(), 200) });
  const failed = h('input', { type: 'checkbox', '.checked': query.get('failed') === 'true', onchange: () => load() });
  const since = select(SPANS.map(([value, name]) => [value, t(name)]), query.get('since') ?? '', () => load());
  let asked = 0;

  function page(filter, before) {
    const search = new URLSearchParams({ ...filter, limit: PAGE });
    if (before !== undefined) search.set('before', before);
    return get(`v1/traces?${search}`, { signal });
  }

  async function load() {
    const turn = (asked += 1);
    keep({ text: textOf(text), failed: failed.checked ? 'true' : '', since: textOf(since) });
    const filter = {
      ...(textOf(text) ? { text: textOf(text) } : {}),
      ...(failed.checked ? { failed: true } : {}),
      ...(textOf(since) ? { since_ms: Date.now() - Number(textOf(since)) } : {}),
    };
    try {
      const first = await page(filter);
      // Ignore the result of an outdated search.
      if (turn !== asked) return;
      fill(failure);
      const none = Object.keys(filter).length > 0 ? t('No matching traces.') : t('No traces. Chats and agent runs appear here after they end.');
      said.textContent = first.traces.length === 0 ? none : '';
      let next = first.next;
      list.show({
        label: t('Traces'),
        items: first.traces,
        row: (one) => ({ href: address(['traces', one.id]), cells: cells(one) }),
        more:
          next === undefined || next === null
            ? null
            : async () => {
                if (next === undefined || next === null) return [];
                const found = await page(filter, next);
                next = found.next;
                return found.traces;
              },
      });
    } catch (error) {
      if (signal.aborted || turn !== asked) return;
      list.show({ label: t('Traces'), items: [], row: () => ({}) });
      fill(failure, problem(error));
    }
  }

  await load();
  return [
    h('div', { class: 'row' }, h('h1', { class: 'grow' }, t('Traces')), button(t('Reload'), load)),
    h(
      'div',
      { class: 'row' },
      h('div', { class: 'grow' }, field(t('Search'), text, t('Matches the name or the model'))),
      field(t('Period'), since),
      h('label', { class: 'row' }, failed, t('Failed only')),
    ),
    failure,
    said,
    list,
  ];
}

function cells(one) {
  const tokens = (one.input_tokens ?? 0) + (one.output_tokens ?? 0);
  return [
    h('span', { class: 'mono' }, when(one.started_us / 1000)),
    h('bdi', { class: 'grow' }, shown(one.name, 200)),
    one.error && h('span', { class: 'badge bad' }, t('failed')),
    one.model && h('bdi', { class: 'wide quiet' }, shown(one.model, 60)),
    h('span', { class: 'wide mono' }, t('{count} spans', { count: number(one.spans ?? 0) })),
    tokens > 0 && h('span', { class: 'wide mono' }, t('{count} tokens', { count: number(tokens) })),
    h('span', { class: 'mono' }, took(one.duration_us ?? 0)),
    one.cost_usd !== undefined && h('span', { class: 'wide mono' }, money(one.cost_usd)),
  ];
}
