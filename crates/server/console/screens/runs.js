// Durable runs: the list, the journal of a run, and forks.

import { ask, get, path as at, send } from '../api.js';
import { address, attempt, go, keep, note } from '../app.js';
import { answer } from '../answer.js';
import { approval } from '../approval.js';
import { follow } from '../follow.js';
import '../list.js';
import { messages } from '../messages.js';
import { number, shown, t, took, when } from '../text.js';
import { facts, fold, json, long, parsed } from '../value.js';
import { button, confirm, dialog, field, fill, h, link, select, textOf } from '../view.js';

const STATES = ['running', 'waiting', 'ready', 'ended'];
const PAGE = 100;

export default async function runs({ path, query, signal }) {
  if (path.length > 1) return one(path[1], query, signal);
  const list = h('q-list', { class: 'fit' });
  const said = h('p', { class: 'quiet', role: 'status' });
  const state = select([['', t('All')], ...STATES.map((name) => [name, t(name)])], query.get('state') ?? '', () => attempt(load));

  async function page(before) {
    const search = new URLSearchParams({ limit: PAGE, ...(textOf(state) ? { state: textOf(state) } : {}), ...(before ? { before } : {}) });
    return get(`v1/runs?${search}`, { signal });
  }

  async function load() {
    keep({ state: textOf(state) });
    const first = await page();
    let last = first.at(-1);
    said.textContent = first.length ? '' : t('No runs. Only durable runs and runs with approvals are stored.');
    list.show({
      label: t('Runs'),
      items: first,
      row: (run) => ({
        href: address(['runs', run.id]),
        cells: [
          h('span', { class: 'mono' }, when(run.created_ms)),
          h('bdi', { class: 'grow' }, shown(run.title, 200)),
          h('span', { class: 'wide mono' }, t('{count} steps', { count: number(run.steps) })),
          badge(run.state),
        ],
      }),
      more:
        first.length < PAGE
          ? null
          : async () => {
              const found = last ? await page(last.created_ms) : [];
              last = found.at(-1);
              return found;
            },
    });
  }

  await load();
  return [
    h('div', { class: 'row' }, h('h1', { class: 'grow' }, t('Runs')), link(t('Inbox'), address(['agents', 'inbox'])), button(t('Reload'), () => attempt(load))),
    field(t('State'), state),
    said,
    list,
  ];
}

function badge(state) {
  return h('span', { class: `badge ${{ waiting: 'warn', ended: '', running: 'good', ready: 'good' }[state] ?? ''}` }, t(state));
}

async function one(id, query, signal) {
  const run = await get(at`v1/runs/${id}`, { signal });
  const again = () => go(['runs', id], { at: Date.now() });
  const live = h('div');
  if (run.state === 'running' || run.state === 'ready') watch(run, live, signal, again);
  const began = run.journal[0]?.at_ms ?? run.created_ms;
  if (query.get('fork')) queueMicrotask(() => fork(id, before(run.journal, Number(query.get('turn'))), run.kind));
  const traces = h('span');
  tracesOf(run.id, traces, signal);
  return [
    h('div', { class: 'row' }, h('h1', { class: 'grow' }, h('bdi', null, shown(run.title, 200))), link(t('All runs'), address(['runs']))),
    h(
      'div',
      { class: 'card' },
      facts([
        [t('Run'), h('code', null, shown(run.id, 200))],
        [t('State'), badge(run.state)],
        [t('Started'), when(run.created_ms)],
        [t('Last step'), when(run.updated_ms)],
        [t('Traces'), traces],
        [t('Forked from'), run.forked && link(t('{id}, step {step}', { id: shown(run.forked[0], 100), step: run.forked[1] }), address(['runs', run.forked[0]]))],
      ]),
      h(
        'div',
        { class: 'row' },
        button(t('Reload'), again),
        run.state === 'ended' && button(t('Delete run'), () => remove(id), { class: 'danger' }),
      ),
    ),
    (run.waiting ?? []).map((waiting) => approval(run.id, waiting, () => watch(run, live, signal, again))),
    live,
    h('h2', null, t('Journal')),
    h('ol', { class: 'steps' }, run.journal.map((step) => row({ id, kind: run.kind }, step, began))),
  ];
}

/** Returns the step before a turn, counted from 1, or the last step if there is no turn. */
function before(journal, turn) {
  const asked = turn > 0 ? journal.findIndex((step) => step.step === 'asked' && step.turn === turn) : -1;
  return journal.at(asked > 0 ? asked - 1 : -1)?.number;
}

/** Lists the traces of a run. Each process that resumed the run leaves one. */
async function tracesOf(id, place, signal) {
  try {
    const { traces } = await get(`v1/traces?${new URLSearchParams({ run: id, limit: 20 })}`, { signal });
    fill(place, traces.length ? traces.reverse().map((one) => [link(when(one.started_us / 1000), address(['traces', one.id])), ' ']) : '—');
  } catch (error) {
    // Traces may be off, or the token may lack the permission.
    if (error.name !== 'AbortError') fill(place, '—');
  }
}

/** Shows the live output of a run and reloads the journal when it ends. */
async function watch(run, live, signal, ended) {
  const view = answer({ id: () => run.id, decided: () => watch(run, live, signal, ended) });
  fill(live, h('h2', null, t('Live output')), view.node);
  try {
    await follow(null, { id: run.id, last: 0 }, { signal, take: view.take, lost: () => {} });
    ended();
  } catch {
    // The events are no longer available here. The journal is complete.
  }
}

function row({ id, kind }, step, began) {
  const { number: at, at_ms, step: name, ...rest } = step;
  const title = [h('span', { class: 'mono quiet' }, `+${took((at_ms - began) * 1000)}`), ' ', h('strong', null, t(name.replaceAll('_', ' '))), ' ', h('span', { class: 'foreign' }, brief(name, rest))];
  return h(
    'li',
    { value: at },
    fold(title, () => whole(name, rest)),
    button(t('Fork here'), () => fork(id, at, kind), { class: 'plain', 'aria-label': `${t('Fork here')} · ${at}` }),
  );
}

/** Returns a short description of the step. */
function brief(name, step) {
  switch (name) {
    case 'asked':
      return t('turn {turn}', { turn: step.turn });
    case 'answered':
      return shown(said(step.events), 160);
    case 'unanswered':
      return shown(step.message ?? '', 160);
    case 'called':
      return shown(`${step.tool}(${JSON.stringify(step.arguments ?? {})})`, 160);
    case 'returned':
      return shown(step.result?.Ok?.value ?? step.result?.Err?.message ?? '', 160);
    case 'parked':
      return shown((step.waiting ?? []).map((one) => one.tool).join(', '), 160);
    case 'decided':
      return shown(`${t(step.decision?.decision ?? '')} · ${step.by ?? ''}`, 160);
    case 'ended':
      return shown(`${t(step.how ?? '')} ${step.error ?? step.text ?? ''}`, 160);
    case 'read':
      return shown(step.source ?? step.name ?? '', 160);
    case 'taken_over':
      return shown(step.by ?? '', 160);
    default:
      return '';
  }
}

function whole(name, step) {
  if (name === 'prepared') {
    const setup = step.setup ?? {};
    return [
      setup.system ? [h('h3', null, t('Instructions')), long(setup.system)] : null,
      // A script has inputs instead of messages.
      Array.isArray(setup.input) ? [h('h3', null, t('Messages')), messages([...(setup.history ?? []), ...setup.input])] : null,
      fold(t('Raw JSON'), () => json(setup)),
    ];
  }
  if (name === 'answered') {
    const calls = (step.events ?? []).filter((event) => event.type === 'tool_call' && event.name);
    return [long(said(step.events)), calls.map((call) => h('div', null, h('code', null, shown(call.name, 200)), json(call.arguments ?? ''))), fold(t('Raw JSON'), () => json(step.events))];
  }
  if (name === 'returned') return json(parsed(step.result?.Ok?.value) ?? step.result);
  return json(step);
}

function said(events) {
  return (events ?? []).filter((event) => event.type === 'text').map((event) => event.text).join('');
}

/** Forks a run at a step. Asks which model and instructions to change. */
async function fork(id, step, kind) {
  const given = await dialog(t('Fork at step {step}', { step }), (close) => {
    const model = h('input', { type: 'text' });
    const prompt = h('input', { type: 'text' });
    const system = h('textarea');
    return h(
      'form',
      {
        onsubmit: (event) => {
          event.preventDefault();
          close({ at: step, ...(textOf(model) ? { model: textOf(model) } : {}), ...(textOf(prompt) ? { prompt: textOf(prompt) } : {}), ...(textOf(system) ? { system: textOf(system) } : {}) });
        },
      },
      h('p', null, t('Creates a run that copies all steps up to this step and continues from there. Recorded approvals still apply.')),
      field(t('New model'), model, t('If empty, the new run uses the same model.')),
      // The instructions of a script cannot be replaced.
      kind !== 'script' && [field(t('Instructions from prompt'), prompt, t('An ID, or ID@8 for version 8.')), field(t('New instructions'), system)],
      h('div', { class: 'row end' }, button(t('Cancel'), () => close(undefined)), h('button', { class: 'main' }, t('Fork run'))),
    );
  });
  if (!given) return;
  await attempt(async () => {
    const made = await send('POST', at`v1/runs/${id}/fork`, given);
    note(t('Created fork {id}.', { id: made.id }));
    go(['runs', made.id]);
  });
}

async function remove(id) {
  if (!(await confirm(t('Delete this run?'), t('This also deletes the journal of the run.'), t('Delete run'), t('Cancel')))) return;
  await attempt(async () => {
    await ask('DELETE', at`v1/runs/${id}`);
    note(t('Run deleted.'));
    go(['runs']);
  });
}
