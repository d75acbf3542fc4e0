// The versions of a prompt: who wrote them and why, what differs, and which one readers get.

import { ask, get, path as at, send } from '../api.js';
import { address, keep, note, problem } from '../app.js';
import { differenceView } from '../merging.js';
import { plainResult } from '../provenance.js';
import { shown, t, when } from '../text.js';
import { button, confirm, dialog, field, fill, h, later, link, select, table } from '../view.js';
import { forQuery, schemaOf, variablesForm } from '../variables.js';

const PAGE = 50;

/** `stored`: the prompt; `shared`: the variables of its views. Draws itself when it has been asked. */
export function versions({ stored, shared, query, signal }) {
  const { id } = stored;
  const base = at`api/v1/prompts/${id}`;
  const labels = h('div');
  const list = h('div');
  const outcome = h('div');
  const text = h('div');
  const rendered = h('div');
  const compared = h('div', { class: 'row' });
  let known = [];
  let before;
  let state = { latest: 0, labels: {} };
  let [from, to] = [query.get('from') ?? '', query.get('to') ?? ''];
  const form = variablesForm(shared.values, () => (shared.change(form.value), renderSoon()));
  const renderSoon = later(compareRendered, 250);

  async function tried(work, said) {
    try {
      await work();
      fill(outcome);
      if (said) note(said);
    } catch (error) {
      if (error.name !== 'AbortError') fill(outcome, problem(error));
    }
  }

  async function more() {
    const page = await get(`${base}/versions?limit=${PAGE}${before ? `&before=${before}` : ''}`, { signal });
    known = known.concat(page.versions);
    before = page.next;
    drawList();
  }

  async function renew() {
    [known, before] = [[], undefined];
    await Promise.all([more(), get(`${base}/labels`, { signal }).then((found) => (state = found))]);
    drawLabels();
    drawList();
  }

  function drawList() {
    const caption = t('Versions of {id}', { id: shown(id, 120) });
    const columns = [t('Version'), t('Author'), t('Time'), t('Message'), t('Labels'), t('What to do')];
    const rows = known.map((one) => [
      String(one.version),
      h('bdi', null, shown(one.author, 120)),
      when(one.created),
      h('bdi', null, shown(one.message ?? '', 500)),
      h('span', { class: 'row' }, one.labels.map((label) => h('span', { class: 'badge' }, shown(label, 60)))),
      h(
        'span',
        { class: 'row' },
        button(t('Compare'), () => choose(String(one.version)), { 'aria-label': t('Compare version {number} with the newest', { number: one.version }) }),
        button(t('Label…'), () => promote(one.version), { 'aria-label': t('Label… for version {number}', { number: one.version }) }),
        link(t('Play'), address(['play'], { prompt: id, versions: one.version, variables: forQuery(shared.values) }), { 'aria-label': t('Play version {number}', { number: one.version }) }),
      ),
    ]);
    fill(list, table(caption, columns, rows, { class: 'many' }), before && button(t('Older versions'), () => tried(more)));
    drawCompared();
  }

  // What readers get.

  function drawLabels() {
    const rows = Object.entries(state.labels).map(([label, target]) => [
      h('bdi', null, shown(label, 80)),
      describe(target),
      h(
        'span',
        { class: 'row' },
        button(t('Move…'), () => promote(undefined, label), { 'aria-label': t('Move… {label}', { label: shown(label, 80) }) }),
        button(t('Roll back'), () => tried(() => send('POST', `${base}/labels/${encodeURIComponent(label)}/rollback`).then(renew), t('{label} is back at the version before.', { label: shown(label, 80) })), {
          'aria-label': t('Roll back {label}', { label: shown(label, 80) }),
        }),
        button(t('Take away'), () => drop(label), { class: 'danger', 'aria-label': t('Take away {label}', { label: shown(label, 80) }) }),
      ),
    ]);
    fill(
      labels,
      rows.length
        ? table(t('Labels of {id}', { id: shown(id, 120) }), [t('Label'), t('Version'), t('What to do')], rows)
        : h('p', { class: 'quiet' }, t('No label was set: readers get the newest version.')),
      h('div', { class: 'row' }, button(t('Set a label'), () => promote()), button(t('Divide a label in shares'), shares)),
    );
  }

  function describe(target) {
    if (typeof target === 'number') return String(target);
    const parts = Object.entries(target.versions).map(([version, share]) => t('version {version}: {share}', { version, share }));
    return `${parts.join(', ')}${target.by ? ` · ${t('by {key}', { key: shown(target.by, 80) })}` : ''}`;
  }

  async function drop(label) {
    const yes = await confirm(t('Take {label} away?', { label: shown(label, 80) }), t('Readers who ask for it are refused; without production they get the newest version.'), t('Take away'), t('Cancel'));
    if (yes) await tried(() => send('DELETE', `${base}/labels/${encodeURIComponent(label)}`).then(renew));
  }

  /** Moves one label to one version; if it stands elsewhere by now than what is shown, it stays there. */
  async function promote(version, label = 'production') {
    const chosen = await dialog(version ? t('A label for version {number}', { number: version }) : t('Move a label'), (close) => {
      const name = h('input', { type: 'text', required: true, '.value': label, autofocus: true });
      const number = select(known.map((one) => one.version), version ?? state.latest, () => {});
      return h(
        'form',
        { onsubmit: (event) => (event.preventDefault(), close({ name: name.value.trim(), version: Number(number.value) })) },
        field(t('Label'), name, t('Readers who name none get production.')),
        field(t('Version'), number),
        actions(close, t('Move it')),
      );
    });
    if (!chosen) return;
    const { name } = chosen;
    await tried(
      () => send('PUT', `${base}/labels/${encodeURIComponent(name)}`, { version: chosen.version, expect: state.labels[name] ?? null }).then(renew),
      t('{label} is at version {number}.', { label: shown(name, 80), number: chosen.version }),
    );
  }

  /** A label for several versions, each with a weight. */
  async function shares() {
    const chosen = await dialog(t('A label in shares'), (close) => {
      const name = h('input', { type: 'text', required: true, '.value': 'production', autofocus: true });
      const by = h('input', { type: 'text', '.value': 'user' });
      const present = known.slice(0, 8).map((one) => one.version);
      const now = state.labels.production?.versions ?? {};
      const weights = present.map((version, index) => {
        const weight = now[version] ?? (Object.keys(now).length === 0 && index < 2 ? [10, 90][index] : 0);
        return [version, h('input', { type: 'number', min: 0, max: 1_000_000, step: 1, '.value': weight })];
      });
      return h(
        'form',
        {
          onsubmit(event) {
            event.preventDefault();
            const given = weights.filter(([, input]) => Number(input.value) > 0).map(([version, input]) => [version, Number(input.value)]);
            close({ name: name.value.trim(), versions: Object.fromEntries(given), by: by.value.trim() });
          },
        },
        field(t('Label'), name),
        weights.map(([version, input]) => field(t('Weight of version {number}', { number: version }), input)),
        field(t('Divided by'), by, t('user, session, or a variable: the same one always gets the same version. Left empty, each request is drawn by itself.')),
        actions(close, t('Divide it')),
      );
    });
    if (!chosen) return;
    const { name, versions: weights, by } = chosen;
    await tried(
      () => send('PUT', `${base}/labels/${encodeURIComponent(name)}`, { versions: weights, ...(by ? { by } : {}), expect: state.labels[name] ?? null }).then(renew),
      t('{label} is divided.', { label: shown(name, 80) }),
    );
  }

  function actions(close, yes) {
    return h('div', { class: 'row end' }, button(t('Cancel'), () => close(undefined)), h('button', { class: 'main' }, yes));
  }

  // What differs.

  function choose(version) {
    from = version;
    to = String(state.latest);
    if (from === to) from = String(known.find((one) => one.version < state.latest)?.version ?? from);
    compare();
    compared.scrollIntoView({ block: 'nearest' });
    compared.querySelector('select')?.focus();
  }

  function drawCompared() {
    const numbers = known.map((one) => String(one.version));
    if (!from) from = numbers[1] ?? numbers[0] ?? '';
    if (!to) to = numbers[0] ?? '';
    const marks = [...new Set([...numbers, from, to])].filter(Boolean);
    fill(
      compared,
      field(t('From version'), select(marks, from, (chosen) => ((from = chosen), compare()))),
      field(t('To version'), select(marks, to, (chosen) => ((to = chosen), compare()))),
      link(t('Both in the playground'), address(['play'], { prompt: id, versions: `${from},${to}`, variables: forQuery(shared.values) })),
    );
  }

  async function compare() {
    keep({ from, to });
    drawCompared();
    await Promise.all([compareText(), compareRendered()]);
  }

  async function compareText() {
    const asked = [from, to];
    try {
      const response = await ask('GET', `${base}/diff?${new URLSearchParams({ from, to })}`, { signal });
      const found = await response.text();
      if (asked[0] !== from || asked[1] !== to) return;
      const lines = found.split('\n').slice(0, 5000);
      const kind = (line) => ({ '+': 'plus', '-': 'minus' })[/^(\+\+\+|---)/.test(line) ? '' : line[0]];
      const label = t('Difference of the definitions');
      fill(text, h('pre', { class: 'diff card', tabindex: 0, role: 'region', 'aria-label': label }, found.trim() ? lines.map((line) => h('span', { class: kind(line) }, shown(line, 20_000))) : t('No difference.')));
    } catch (error) {
      if (error.name !== 'AbortError') fill(text, problem(error));
    }
  }

  async function compareRendered() {
    if (!from || !to) return;
    const asked = [from, to];
    const one = (version) => send('POST', at`api/v1/render/prompts/${`${id}@${version}`}`, { variables: form.value, explain: true }, { signal });
    const answers = await Promise.allSettled([one(from), one(to)]);
    if (signal.aborted || asked[0] !== from || asked[1] !== to) return;
    const used = answers.flatMap(({ value, reason }) => [
      ...(value?.explanation?.variables ?? []).filter((variable) => /^(variables|args)\./.test(variable.path)).map((variable) => variable.path),
      ...(reason?.problem?.missing ?? []),
    ]);
    form.show(schemaOf(stored.detail.parameters), used);
    const failures = answers.map(({ reason: error }, index) => error && [h('p', { class: 'quiet' }, t('Version {number} does not render:', { number: asked[index] })), problem(error)]);
    if (failures.some(Boolean)) return fill(rendered, failures);
    const [before, after] = answers.map(({ value }) => plainResult(value));
    fill(rendered, differenceView(before, after, t('Difference of what they render to')));
  }

  (async () => {
    await tried(async () => {
      await renew();
      await compare();
    });
  })();

  return h(
    'div',
    null,
    outcome,
    h('h2', null, t('Which version readers get')),
    labels,
    h('h2', null, t('All versions')),
    list,
    h('h2', null, t('What differs')),
    compared,
    h('div', { class: 'columns' }, h('div', null, h('h3', null, t('The definitions')), text), h('div', null, h('h3', null, t('What they render to')), rendered)),
    h('div', { class: 'card' }, form.element),
  );
}
