// The system page: store, model, limits, tokens, budgets and metrics.

import { ask, get, Refused } from '../api.js';
import { address, attempt, problem } from '../app.js';
import { atRoot } from '../place.js';
import { number, shown, t, took } from '../text.js';
import { facts, fold, json } from '../value.js';
import { button, fill, h, link, table } from '../view.js';

export default async function system({ signal }) {
  const body = h('div');
  async function load() {
    // A missing permission hides only its own section.
    const [ready, known, spent, counted] = await Promise.all(
      [readiness(signal), get('v1/system', { signal }), get('v1/budgets', { signal }), counters(signal)].map((one) =>
        one.catch((error) => {
          if (signal.aborted) throw error;
          return error;
        }),
      ),
    );
    fill(body, part(ready, standing), part(known, parts), part(spent, budgets), part(counted, numbers));
  }
  await load();
  return [h('div', { class: 'row' }, h('h1', { class: 'grow' }, t('System')), button(t('Reload'), () => attempt(load))), body];
}

/** `/readyz` returns reasons with a 503 too. */
async function readiness(signal) {
  try {
    return await get(await atRoot('/readyz', signal), { signal });
  } catch (error) {
    if (error instanceof Refused && error.status === 503) return error.problem;
    throw error;
  }
}

async function counters(signal) {
  return (await ask('GET', await atRoot('/metrics', signal), { signal })).text();
}

function part(found, draw) {
  if (!(found instanceof Error)) return draw(found);
  const lacks = found instanceof Refused && found.status === 403;
  return [lacks ? h('p', { class: 'warn' }, t('This token lacks a permission that this section needs:')) : null, problem(found)];
}

function standing(ready) {
  const good = ready.status === 'ready';
  return h(
    'section',
    { class: 'card', 'aria-label': t('State') },
    h('p', null, h('span', { class: `badge ${good ? 'good' : 'warn'}` }, t(ready.status ?? 'unknown'))),
    facts([
      [t('Store'), ready.store],
      [t('Model'), ready.model],
      [t('Prompts'), ready.prompts],
      [t('Invalid prompts'), ready.invalid],
    ]),
    (ready.reasons ?? (ready.reason ? [ready.reason] : [])).map((reason) => h('p', { class: 'warn foreign' }, shown(typeof reason === 'string' ? reason : JSON.stringify(reason), 500))),
  );
}

function parts(known) {
  const { version, store, prompts, limits, tokens, models_ending: ending, ...rest } = known;
  return [
    h(
      'section',
      { class: 'card', 'aria-label': t('Components') },
      facts([
        [t('Version'), version],
        [t('Store'), store && `${store.name ?? ''} ${t(store.status ?? '')}`],
        [t('Reason'), store?.reason],
        [t('Prompts'), prompts && t('{valid} valid, {invalid} invalid', { valid: number(prompts.valid ?? 0), invalid: number(prompts.invalid ?? 0) })],
        ...Object.entries(rest).map(([name, value]) => [partName(name), described(value)]),
      ]),
    ),
    ending?.length > 0 && [
      h('h2', null, t('Deprecated models')),
      ending.map((one) => h('div', { class: 'problem warning' }, link(h('bdi', null, shown(one.prompt ?? '', 200)), address(['prompts', one.prompt ?? ''])), h('div', null, shown(one.message ?? '', 500)), one.help && h('div', { class: 'quiet' }, shown(one.help, 500)))),
    ],
    h('h2', null, t('Access tokens')),
    tokens?.length
      ? table(
          t('Names and permissions. The tokens themselves are never shown.'),
          [t('Name'), t('Permissions')],
          tokens.map((one) => [h('bdi', null, shown(one.name, 100)), (one.rights ?? []).map((right) => [h('span', { class: 'badge' }, shown(right, 200)), ' '])]),
        )
      : h('p', null, t('No access tokens. Anyone who can reach this server has all permissions.')),
    limits && [
      h('h2', null, t('Limits')),
      table(
        t('Limits for requests and runs'),
        [t('Limit'), t('Value')],
        Object.entries(flat(limits)).map(([name, value]) => [h('code', null, shown(name, 100)), typeof value === 'number' ? number(value) : typeof value === 'boolean' ? t(value ? 'yes' : 'no') : h('bdi', null, shown(value, 200))]),
      ),
    ],
  ];
}

/** Renders the daily budgets: spent, reserved, limit and time of reset. */
function budgets({ data, day, resets_in_s: left }) {
  const named = (name) => (name === 'all' ? t('everyone') : name.startsWith('key:') ? t('token {name}', { name: shown(name.slice(4), 100) }) : shown(name, 100));
  return [
    h('h2', { id: 'budgets' }, t('Budgets')),
    data.length === 0
      ? h('p', null, t('No daily budgets. Set them in the configuration, for all callers or for one token.'))
      : table(
          t('Daily budgets for {day} (UTC). They reset in {time}.', { day, time: duration(left) }),
          [t('Scope'), t('Spent'), t('Reserved'), t('Limit'), t('Used')],
          data.map((one) => [named(one.name), sums(one.spent, one.limit), sums(one.held, one.limit), sums(one.limit, one.limit), units(one).map(([unit, share]) => meter(one, unit, share))]),
          { class: 'many' },
        ),
  ];
}

/** Returns the limited units of a budget and the share used of each. */
function units({ limit, spent, held }) {
  return ['usd', 'tokens'].filter((unit) => limit[unit] !== undefined).map((unit) => [unit, limit[unit] > 0 ? ((spent[unit] ?? 0) + (held[unit] ?? 0)) / limit[unit] : 1]);
}

/** Renders an amount in the limited units. */
function sums(amount, limit) {
  const words = { usd: (value) => `$${value.toFixed(4)}`, tokens: (value) => t('{count} tokens', { count: number(value) }) };
  return Object.keys(words).filter((unit) => limit[unit] !== undefined).map((unit) => h('div', null, words[unit](amount[unit] ?? 0)));
}

function meter(one, unit, share) {
  const percent = Math.round(share * 100);
  const mark = h('progress', { max: 1, value: Math.min(1, share), 'aria-label': t('{name}: {percent} % of {unit}', { name: shown(one.name, 100), percent, unit: unit === 'usd' ? t('US dollars') : t('tokens') }) });
  return h('div', { class: share >= 1 ? 'bad' : null }, mark, ` ${percent} %`);
}

const PARTS = { model: 'Model', tools: 'Tools', databases: 'Databases', agents: 'Agents', batches: 'Batches', traces: 'Traces', journal: 'Journal' };

function partName(name) {
  return PARTS[name] ? t(PARTS[name]) : shown(name, 60);
}

/** Describes a component. */
function described(value) {
  if (value === null || value === undefined) return t('none');
  if (Array.isArray(value)) return value.length ? h('span', { class: 'foreign' }, value.map((one) => shown(typeof one === 'string' ? one : (one.name ?? JSON.stringify(one)), 100)).join(', ')) : t('none');
  if (typeof value === 'boolean') return value ? t('yes') : t('no');
  if (typeof value === 'object' && 'valid' in value) return t('{valid} valid, {invalid} invalid', { valid: number(value.valid), invalid: number(value.invalid ?? 0) });
  if (typeof value === 'object') return h('span', { class: 'foreign' }, Object.entries(value).filter(([, of]) => of !== null).map(([name, of]) => `${name}: ${shown(typeof of === 'object' ? JSON.stringify(of) : of, 200)}`).join(' · '));
  return String(value);
}

/** Flattens nested fields to dotted names. */
function flat(value, before = '') {
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, of]) => (of !== null && typeof of === 'object' && !Array.isArray(of) ? Object.entries(flat(of, `${before}${name}.`)) : [[`${before}${name}`, Array.isArray(of) ? of.join(', ') : (of ?? '')]])),
  );
}

/** Parses the Prometheus text format. Returns `[{ name, labels, value }]`. */
export function samples(text) {
  const all = [];
  for (const line of text.split('\n')) {
    const found = line.match(/^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/);
    if (!found) continue;
    const labels = {};
    for (const [, name, value] of (found[2] ?? '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) labels[name] = value.replace(/\\(.)/g, (_, sign) => (sign === 'n' ? '\n' : sign));
    all.push({ name: found[1], labels, value: Number(found[3]) });
  }
  return all;
}

function numbers(text) {
  const all = samples(text);
  const of = (name, test = () => true) => all.filter((one) => one.name === name && test(one.labels)).reduce((sum, one) => sum + one.value, 0);
  const one = (name) => all.find((sample) => sample.name === name)?.value;
  const mean = (name) => (of(`${name}_count`) ? took((of(`${name}_sum`) / of(`${name}_count`)) * 1e6) : '—');
  const routes = all
    .filter((sample) => sample.name === 'quillet_http_requests_total' && sample.labels.route)
    .reduce((map, { labels, value }) => {
      const key = `${labels.method} ${labels.route}`;
      const had = map.get(key) ?? { all: 0, bad: 0 };
      return map.set(key, { all: had.all + value, bad: had.bad + (labels.status >= '500' ? value : 0) });
    }, new Map());
  const errors = all.filter((sample) => sample.name === 'quillet_errors_total').sort((a, b) => b.value - a.value);
  return [
    h('h2', null, t('Metrics since startup')),
    h(
      'div',
      { class: 'card' },
      facts([
        [t('Uptime'), one('quillet_uptime_seconds') === undefined ? null : duration(one('quillet_uptime_seconds'))],
        [t('Memory'), one('process_resident_memory_bytes') ? `${number(Math.round(one('process_resident_memory_bytes') / 2 ** 20))} MiB` : null],
        [t('Requests'), number(of('quillet_http_requests_total'))],
        [t('5xx responses'), number(of('quillet_http_requests_total', (labels) => labels.status >= '500'))],
        [t('Connections'), number(of('quillet_connections'))],
        [t('Streams'), number(of('quillet_streams'))],
        [t('Mean render time'), mean('quillet_render_seconds')],
        [t('Mean time to first model event'), mean('quillet_model_first_event_seconds')],
        [t('Model retries'), number(of('quillet_model_retries_total'))],
        [t('Stale renders'), number(of('quillet_stale_renders_total'))],
        [t('Active agent runs'), number(of('quillet_agent_active_runs'))],
        [t('Agent tokens'), t('{input} in, {output} out', { input: number(of('quillet_agent_tokens_total', (labels) => labels.kind === 'input')), output: number(of('quillet_agent_tokens_total', (labels) => labels.kind === 'output')) })],
      ]),
    ),
    errors.length > 0 && table(t('Errors by code'), [t('Code'), t('Count')], errors.map((sample) => [h('code', null, shown(sample.labels.code ?? '', 100)), number(sample.value)])),
    routes.size > 0 &&
      fold(t('Requests by route'), () =>
        table(
          t('Requests by route'),
          [t('Route'), t('Count'), t('5xx responses')],
          [...routes].sort(([, a], [, b]) => b.all - a.all).map(([route, counts]) => [h('code', { class: 'foreign' }, shown(route, 200)), number(counts.all), number(counts.bad)]),
        ),
      ),
    fold(t('All metrics'), () => json(text)),
  ];
}

function duration(seconds) {
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3_600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [Math.floor(seconds) % 60, 's'],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  return parts.slice(first < 0 ? 3 : first, (first < 0 ? 3 : first) + 2).map(([count, unit]) => `${count} ${unit}`).join(' ');
}
