// One trace: a tree of spans with a timeline, and the details of the selected span.

import { address, keep } from './app.js';
import './list.js';
import { definitions, messages } from './messages.js';
import { money, number, shown, t, took, when } from './text.js';
import { facts, fold, json, long, parsed } from './value.js';
import { button, field, fill, h, link, textOf } from './view.js';

/** Attributes with a section of their own, left out of the list. */
const PLACED = [
  'gen_ai.input.messages',
  'gen_ai.output.messages',
  'gen_ai.tool.definitions',
  'gen_ai.tool.call.arguments',
  'gen_ai.tool.call.result',
  'quillet.prompt.variables',
];

/** Maximum number of collapsed spans stored in the address. */
const FOLDED = 40;

/** Creates the view. `found` is the response of `GET v1/traces/{id}`. */
export function trace(found, query) {
  const spans = ordered(found.spans);
  const start = Math.min(...spans.map((span) => span.started_us));
  const whole = Math.max(1, ...spans.map((span) => span.started_us + span.duration_us - start));
  const root = spans[0];
  const run = runOf(spans);
  let chosen = spans.find((span) => String(span.id) === query.get('span')) ?? root;
  let listed = spans;
  const folded = new Set((query.get('folded') ?? '').split(',').filter(Boolean));

  const list = h('q-list', { class: 'spans' });
  const detail = h('section', { class: 'card', 'aria-live': 'polite', 'aria-label': t('Span') });
  const search = h('input', { type: 'search', '.value': query.get('q') ?? '', oninput: () => (keep({ q: textOf(search) }), show()) });

  function show(kept = false) {
    const word = textOf(search).toLowerCase();
    // Search results are a flat list.
    listed = word ? spans.filter((span) => JSON.stringify([span.name, span.kind, span.error ?? '']).toLowerCase().includes(word)) : unfolded();
    list.show({ label: t('Spans'), items: listed, row, tree: !word, marked: true, toggle, kept });
  }

  /** Returns the spans that are not hidden in a collapsed span. */
  function unfolded() {
    let hides = Infinity;
    return spans.filter((span) => {
      if (span.depth > hides) return false;
      hides = folded.has(span.id) ? span.depth : Infinity;
      span.expanded = span.below > 0 ? !folded.has(span.id) : undefined;
      return true;
    });
  }

  function toggle(span) {
    if (!folded.delete(span.id)) folded.add(span.id);
    remember();
    show(true);
  }

  function foldAll(is) {
    folded.clear();
    if (is) for (const span of spans) if (span.depth > 0 && span.below > 0) folded.add(span.id);
    remember();
    show();
  }

  /** Stores the collapsed spans in the address, up to a limit. */
  function remember() {
    keep({ folded: folded.size > 0 && folded.size <= FOLDED ? [...folded].join(',') : '' });
  }

  function row(span) {
    return { href: address(['traces', found.id], { span: span.id }), current: span === chosen, cells: [name(span), bar(span), h('span', { class: 'mono' }, took(span.duration_us))] };
  }

  function name(span) {
    const element = h(
      'span',
      { class: 'span-name' },
      span.below > 0 && !textOf(search) && h('span', { class: 'fold', title: t(folded.has(span.id) ? 'Expand' : 'Collapse') }, folded.has(span.id) ? '▸' : '▾'),
      h('span', { class: `badge ${span.error ? 'bad' : ''}` }, t(span.kind)),
      ' ',
      h('bdi', null, shown(span.name, 120)),
      span.error && h('span', { class: 'bad' }, ` ${t('failed')}`),
      folded.has(span.id) && !textOf(search) && h('span', { class: 'quiet' }, ` ${t('{count} hidden', { count: number(span.below) })}`),
    );
    element.style.paddingInlineStart = `${Math.min(span.depth, 12) * 0.9}rem`;
    return element;
  }

  function bar(span) {
    const mark = h('span', { class: `bar ${span.error ? 'failed' : ''} ${span.kind}` });
    mark.style.marginInlineStart = `${((span.started_us - start) / whole) * 100}%`;
    mark.style.width = `${Math.max(0.3, (span.duration_us / whole) * 100)}%`;
    return h('span', { class: 'timeline', 'aria-hidden': 'true' }, mark);
  }

  function choose(span) {
    chosen = span;
    keep({ span: span.id });
    for (const link of list.querySelectorAll('a')) {
      if (listed[Number(link.dataset.index)] === span) link.setAttribute('aria-current', 'true');
      else link.removeAttribute('aria-current');
    }
    fill(detail, about(span, start, run));
  }

  // Rows are links so they can open in a new tab. A plain click stays in this view.
  list.addEventListener('click', (event) => {
    const link = event.target.closest('a');
    if (!link || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    choose(listed[Number(link.dataset.index)]);
  });

  show();
  fill(detail, about(chosen, start, run));
  return [
    h('div', { class: 'row' }, h('h1', { class: 'grow' }, h('bdi', null, shown(root?.name ?? found.id, 200))), link(t('All traces'), address(['traces']))),
    summary(found, spans, run, whole),
    h(
      'div',
      { class: 'row' },
      h('div', { class: 'grow' }, field(t('Search spans'), search)),
      spans.some((span) => span.depth > 0 && span.below > 0) && [button(t('Collapse all'), () => foldAll(true)), button(t('Expand all'), () => foldAll(false))],
    ),
    h('div', { class: 'trace' }, list, detail),
  ];
}

/** Returns the durable run of the trace, and a function that maps a model span to its turn. */
function runOf(spans) {
  const id = spans[0]?.attributes?.['quillet.run'];
  if (!id) return null;
  const asked = spans.filter((span) => span.kind === 'model').sort((a, b) => a.started_us - b.started_us);
  return { id, turn: (span) => asked.indexOf(span) + 1 };
}

/** Links to a fork of the run before a turn. */
function forkLink(run, turn) {
  return link(t('Fork from here'), address(['runs', run.id], { fork: 1, turn: turn || undefined }));
}

/**
 * Returns spans in tree order with `depth`, the number of descendants in `below`, and `level`, `place`
 * and `size` for ARIA. A span with a missing parent is a root.
 */
export function ordered(spans) {
  const ids = new Set(spans.map((span) => span.id));
  const below = new Map();
  for (const span of spans) {
    const parent = ids.has(span.parent) && span.parent !== span.id ? span.parent : null;
    if (!below.has(parent)) below.set(parent, []);
    below.get(parent).push(span);
  }
  for (const children of below.values()) children.sort((a, b) => a.started_us - b.started_us);
  const all = [];
  const seen = new Set();
  const stack = [];
  const push = (parent, depth) => {
    const children = below.get(parent) ?? [];
    for (let place = children.length; place > 0; place -= 1) stack.push([children[place - 1], depth, place, children.length]);
  };
  push(null, 0);
  while (stack.length) {
    const [span, depth, place, size] = stack.pop();
    if (seen.has(span)) continue;
    seen.add(span);
    all.push({ ...span, depth, level: depth + 1, place, size, below: 0 });
    push(span.id, depth + 1);
  }
  // Spans in a cycle have no root. Show them anyway.
  for (const span of spans) if (!seen.has(span)) all.push({ ...span, depth: 0, level: 1, place: 1, size: 1, below: 0 });
  const above = [];
  for (const span of all) {
    above.length = Math.min(above.length, span.depth);
    for (const one of above) one.below += 1;
    above.push(span);
  }
  return all;
}

function summary(found, spans, run, whole) {
  const [root] = spans;
  const of = (span, key) => Number(span.attributes?.[key] ?? 0);
  const model = spans.filter((span) => span.kind === 'model');
  const counted = model.length ? model : spans.slice(0, 1);
  const input = counted.reduce((sum, span) => sum + of(span, 'gen_ai.usage.input_tokens'), 0);
  const output = counted.reduce((sum, span) => sum + of(span, 'gen_ai.usage.output_tokens'), 0);
  const failed = spans.filter((span) => span.error).length;
  return h(
    'div',
    { class: 'card' },
    facts([
      [t('Started'), root && when(root.started_us / 1000)],
      [t('Duration'), took(whole)],
      [t('Spans'), number(spans.length)],
      [t('Tokens'), t('{input} in, {output} out', { input: number(input), output: number(output) })],
      [t('Cost'), money(found.cost_usd)],
      [t('Failed spans'), failed ? h('span', { class: 'bad' }, number(failed)) : '0'],
      [t('Trace'), h('code', null, shown(found.id, 200))],
    ]),
    h('div', { class: 'row' }, playground(spans), run && [link(t('Open run'), address(['runs', run.id])), forkLink(run)]),
  );
}

/** Returns the prompt ID without its version. */
function named(said) {
  const [name, mark] = [said['gen_ai.prompt.name'], `@${said['gen_ai.prompt.version']}`];
  return name.endsWith(mark) ? name.slice(0, -mark.length) : name;
}

/** Links to the playground if the trace has a prompt. */
function playground(spans) {
  const from = spans.find((span) => span.attributes?.['gen_ai.prompt.name']);
  if (!from) return null;
  const said = from.attributes;
  const variables = parsed(said['quillet.prompt.variables']);
  const asked = spans.find((span) => span.kind === 'model')?.attributes ?? {};
  const model = said['gen_ai.request.model'] ?? asked['gen_ai.request.model'] ?? asked['gen_ai.response.model'];
  return link(
    t('Open in playground'),
    address(['play'], {
      prompt: named(said),
      version: said['gen_ai.prompt.version'],
      variables: variables === undefined ? undefined : JSON.stringify(variables),
      model,
    }),
  );
}

function about(span, start, run) {
  if (!span) return h('p', { class: 'quiet' }, t('No spans.'));
  const said = span.attributes ?? {};
  const rest = Object.fromEntries(Object.entries(said).filter(([name]) => !PLACED.includes(name)));
  const tokens = ['input', 'output'].map((of) => said[`gen_ai.usage.${of}_tokens`]);
  return [
    h('h2', null, h('bdi', null, shown(span.name, 300))),
    facts([
      [t('Kind'), t(span.kind)],
      [t('Offset'), took(span.started_us - start)],
      [t('Duration'), took(span.duration_us)],
      [t('Model'), said['gen_ai.request.model']],
      [t('Tokens'), tokens[0] === undefined ? null : t('{input} in, {output} out', { input: number(tokens[0]), output: number(tokens[1] ?? 0) })],
    ]),
    run && span.kind === 'model' && h('p', null, forkLink(run, run.turn(span))),
    span.error && h('div', { class: 'problem' }, long(typeof span.error === 'string' ? span.error : JSON.stringify(span.error))),
    part(t('Messages sent'), said['gen_ai.input.messages'], messages),
    part(t('Answer'), said['gen_ai.output.messages'], messages),
    part(t('Variables'), said['quillet.prompt.variables'], json),
    part(t('Arguments'), said['gen_ai.tool.call.arguments'], json),
    part(t('Result'), said['gen_ai.tool.call.result'], json),
    said['gen_ai.tool.definitions'] !== undefined && [h('h3', null, t('Tools offered')), definitions(said['gen_ai.tool.definitions'])],
    ['model', 'tool'].includes(span.kind) && !PLACED.some((name) => name in said) && h('p', { class: 'quiet' }, t('Traces include text only if the setting agent.trace_texts is on.')),
    Object.keys(rest).length > 0 && fold(t('Attributes'), () => json(rest)),
  ];
}

function part(title, value, show) {
  return value === undefined || value === null ? null : [h('h3', null, title), show(value)];
}
