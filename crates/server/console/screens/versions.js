// Versions of a prompt: history, labels and comparison.

import { ask, get, path as at, send } from '../api.js';
import { address, keep, note, problem } from '../app.js';
import { differenceView } from '../merging.js';
import { plainResult } from '../provenance.js';
import { shown, t, when } from '../text.js';
import { button, confirm, dialog, field, fill, h, later, link, select, table, textOf } from '../view.js';
import { forQuery, schemaOf, variablesForm } from '../variables.js';

const PAGE = 50;

/** `stored`: the prompt; `shared`: the variables of its views. */
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
    const columns = [t('Version'), t('Author'), t('Time'), t('Version message'), t('Labels'), t('Actions')];
    const rows = known.map((one) => [
      String(one.version),
      h('bdi', null, shown(one.author, 120)),
      when(one.created),
      h('bdi', null, shown(one.message ?? '', 500)),
      h('span', { class: 'row' }, one.labels.map((label) => h('span', { class: 'badge' }, shown(label, 60)))),
      h(
        'span',
        { class: 'row' },
        button(t('Compare'), () => choose(String(one.version)), { 'aria-label': t('Compare version {number} with the latest', { number: one.version }) }),
        button(t('Set label…'), () => promote(one.version), { 'aria-label': t('Set label… for version {number}', { number: one.version }) }),
        link(t('Open in playground'), address(['play'], { prompt: id, versions: one.version, variables: forQuery(shared.values) }), { 'aria-label': t('Open in playground: version {number}', { number: one.version }) }),
      ),
    ]);
    fill(list, table(caption, columns, rows, { class: 'many' }), before && button(t('Load older versions'), () => tried(more)));
    drawCompared();
  }

  // Labels.

  function drawLabels() {
    const rows = Object.entries(state.labels).map(([label, target]) => [
      h('bdi', null, shown(label, 80)),
      describe(target),
      h(
        'span',
        { class: 'row' },
        button(t('Move label…'), () => promote(undefined, label), { 'aria-label': t('Move label… {label}', { label: shown(label, 80) }) }),
        button(t('Roll back'), () => tried(() => send('POST', `${base}/labels/${encodeURIComponent(label)}/rollback`).then(renew), t('Rolled {label} back to its previous version.', { label: shown(label, 80) })), {
          'aria-label': t('Roll back {label}', { label: shown(label, 80) }),
        }),
        button(t('Remove label'), () => drop(label), { class: 'danger', 'aria-label': t('Remove label {label}', { label: shown(label, 80) }) }),
      ),
    ]);
    fill(
      labels,
      rows.length
        ? table(t('Labels of {id}', { id: shown(id, 120) }), [t('Label'), t('Version'), t('Actions')], rows)
        : h('p', { class: 'quiet' }, t('No labels. Requests get the latest version.')),
      h('div', { class: 'row' }, button(t('Set label'), () => promote()), button(t('Set weighted label'), shares)),
    );
  }

  function describe(target) {
    if (typeof target === 'number') return String(target);
    const parts = Object.entries(target.versions).map(([version, share]) => t('version {version}: {share}', { version, share }));
    return `${parts.join(', ')}${target.by ? ` · ${t('by {key}', { key: shown(target.by, 80) })}` : ''}`;
  }

  async function drop(label) {
    const yes = await confirm(t('Remove label {label}?', { label: shown(label, 80) }), t('Requests that use this label will fail. If you remove production, requests without a label get the latest version.'), t('Remove label'), t('Cancel'));
    if (yes) await tried(() => send('DELETE', `${base}/labels/${encodeURIComponent(label)}`).then(renew));
  }

  /** Points a label to a version. Fails if the label was moved since the page loaded it. */
  async function promote(version, label = 'production') {
    const chosen = await dialog(version ? t('Set label for version {number}', { number: version }) : t('Set label'), (close) => {
      const name = h('input', { type: 'text', required: true, '.value': label, autofocus: true });
      const number = select(known.map((one) => one.version), version ?? state.latest, () => {});
      return h(
        'form',
        { onsubmit: (event) => (event.preventDefault(), close({ name: textOf(name).trim(), version: Number(textOf(number)) })) },
        field(t('Label'), name, t('Requests without a label use the production label.')),
        field(t('Version'), number),
        actions(close, t('Set label')),
      );
    });
    if (!chosen) return;
    const { name } = chosen;
    await tried(
      () => send('PUT', `${base}/labels/${encodeURIComponent(name)}`, { version: chosen.version, expect: state.labels[name] ?? null }).then(renew),
      t('{label} now points to version {number}.', { label: shown(name, 80), number: chosen.version }),
    );
  }

  /** Sets a label with a weight for each of several versions. */
  async function shares() {
    const chosen = await dialog(t('Set weighted label'), (close) => {
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
            const given = weights.filter(([, input]) => Number(textOf(input)) > 0).map(([version, input]) => [version, Number(textOf(input))]);
            close({ name: textOf(name).trim(), versions: Object.fromEntries(given), by: textOf(by).trim() });
          },
        },
        field(t('Label'), name),
        weights.map(([version, input]) => field(t('Weight of version {number}', { number: version }), input)),
        field(t('Split by'), by, t('user, session, or the name of a variable. Requests with the same value get the same version. If empty, each request gets a random version according to the weights.')),
        actions(close, t('Save weights')),
      );
    });
    if (!chosen) return;
    const { name, versions: weights, by } = chosen;
    await tried(
      () => send('PUT', `${base}/labels/${encodeURIComponent(name)}`, { versions: weights, ...(by ? { by } : {}), expect: state.labels[name] ?? null }).then(renew),
      t('Saved the weights of {label}.', { label: shown(name, 80) }),
    );
  }

  function actions(close, yes) {
    return h('div', { class: 'row end' }, button(t('Cancel'), () => close(undefined)), h('button', { class: 'main' }, yes));
  }

  // Comparison.

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
      link(t('Open both in playground'), address(['play'], { prompt: id, versions: `${from},${to}`, variables: forQuery(shared.values) })),
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
      const label = t('Differences between definitions');
      fill(text, h('pre', { class: 'diff card', tabindex: 0, role: 'region', 'aria-label': label }, found.trim() ? lines.map((line) => h('span', { class: kind(line) }, shown(line, 20_000))) : t('No differences.')));
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
    const failures = answers.map(({ reason: error }, index) => error && [h('p', { class: 'quiet' }, t('Cannot render version {number}:', { number: asked[index] })), problem(error)]);
    if (failures.some(Boolean)) return fill(rendered, failures);
    const [before, after] = answers.map(({ value }) => plainResult(value));
    fill(rendered, differenceView(before, after, t('Differences in rendered output')));
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
    h('h2', null, t('Labels')),
    labels,
    h('h2', null, t('All versions')),
    list,
    h('h2', null, t('Compare versions')),
    compared,
    h('div', { class: 'columns' }, h('div', null, h('h3', null, t('Definitions')), text), h('div', null, h('h3', null, t('Rendered output')), rendered)),
    h('div', { class: 'card' }, form.element),
  );
}
