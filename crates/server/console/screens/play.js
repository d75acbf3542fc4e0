// The playground: compares answers of prompt versions and models for the same variables.

import { get, path as at, send } from '../api.js';
import { keep, note, problem } from '../app.js';
import { answered } from '../answers.js';
import { fixture } from '../fixture.js';
import { shown, t } from '../text.js';
import { button, dialog, field, fill, h, keepLineEndings, later, select, textOf } from '../view.js';
import { forQuery, fromQuery, schemaOf, variablesForm } from '../variables.js';

const MOST = 4;
/** Maximum number of suggested IDs. */
const OFFERED = 50;

function list(query, name) {
  const text = query.get(name);
  return text === null || text === '' ? [] : text.split(',');
}

function turnsOf(query) {
  try {
    const turns = JSON.parse(query.get('turns') ?? '[]');
    return Array.isArray(turns) ? turns.filter((turn) => typeof turn === 'string') : [];
  } catch {
    return [];
  }
}

export default async function play({ query, signal }) {
  const [models, prompts] = await Promise.all([
    get('v1/models', { signal }).then(({ data }) => data.map(({ id }) => id).filter((id) => !/^(prompt|agent)\//.test(id))),
    get('api/v1/prompts', { signal }),
  ]);
  let prompt = query.get('prompt') ?? '';
  let turns = turnsOf(query);
  const [ofVersions, ofModels] = [list(query, 'versions'), list(query, 'models')];
  const size = Math.min(MOST, Math.max(ofVersions.length, ofModels.length, 1));
  let marks = ['latest'];
  let leads = true;
  let columns = Array.from({ length: size }, (_, index) => column(ofVersions[index] ?? ofVersions.at(-1) ?? 'latest', ofModels[index] ?? ''));
  const form = variablesForm(fromQuery(query), () => (remember(), lookSoon()));
  const board = h('div', { class: 'columns' });
  const offers = h('datalist', { id: 'prompts-offered' });
  const search = h('input', { type: 'text', list: offers.id, spellcheck: 'false', autocomplete: 'off', '.value': prompt });
  const turn = h('textarea', { class: 'short', rows: 2 });
  const said = h('ol');
  const outcome = h('div');
  const lookSoon = later(look, 250);

  function remember() {
    const versions = prompt ? columns.map((one) => one.version).join(',') : '';
    const chosen = columns.map((one) => one.model).join(',');
    const values = forQuery(form.value);
    const told = JSON.stringify(turns);
    keep({ prompt, versions, models: /[^,]/.test(chosen) || !prompt ? chosen : '', variables: values, turns: turns.length && told.length < 6000 ? told : '' });
  }

  function column(version, model) {
    return { version, model, messages: [], answers: [], stop: null, body: h('div', { class: 'answers' }) };
  }

  function offer() {
    const word = textOf(search).toLowerCase();
    const found = prompts.filter((id) => id.toLowerCase().includes(word)).slice(0, OFFERED);
    fill(offers, found.map((id) => h('option', { value: id })));
  }

  /** Selects a prompt and loads its versions and variables. */
  async function choose(id) {
    prompt = id;
    remember();
    fill(outcome);
    form.show({ properties: {}, required: [] }, []);
    marks = ['latest'];
    if (prompt) {
      try {
        const base = at`api/v1/prompts/${prompt}`;
        const [detail, versions, labels] = await Promise.all([
          get(base, { signal }),
          get(`${base}/versions?limit=50`, { signal }).catch(() => null),
          get(`${base}/labels`, { signal }).catch(() => null),
        ]);
        marks = ['latest', ...Object.keys(labels?.labels ?? {}), ...(versions?.versions ?? []).map((one) => String(one.version))];
        form.show(schemaOf(detail.parameters));
        await look();
      } catch (error) {
        if (error.name !== 'AbortError') fill(outcome, problem(error));
      }
    }
    draw();
  }

  /** Finds the variables used, and whether the prompt has a user message. */
  async function look() {
    if (!prompt) return;
    const asked = prompt;
    let used = [];
    try {
      const answer = await send('POST', at`api/v1/render/prompts/${named(columns[0])}`, { variables: form.value, explain: true }, { signal });
      used = (answer.explanation?.variables ?? []).map(({ path }) => path).filter((path) => /^(variables|args)\./.test(path));
      leads = answer.kind !== 'messages' || answer.rendered_prompt.some(({ role }) => role === 'user');
    } catch (error) {
      used = error.problem?.missing ?? [];
    }
    if (asked === prompt) form.show(undefined, used);
  }

  function named({ version }) {
    return version === 'latest' ? `${prompt}@latest` : `${prompt}@${version}`;
  }

  function draw() {
    fill(board, columns.map(columnView));
    const roles = turns.map((text, index) => h('li', null, h('bdi', null, shown(text, 300)), ' ', button('✕', () => (turns.splice(index, 1), remember(), draw()), { class: 'plain', 'aria-label': t('Remove message {number}', { number: index + 1 }) })));
    fill(said, roles);
    said.hidden = roles.length === 0;
    add.disabled = columns.length >= MOST;
  }

  function columnView(one, index) {
    const name = t('Column {number}', { number: index + 1 });
    const offeredMarks = [...new Set([...marks, one.version])];
    const offeredModels = [['', prompt ? t('Prompt model') : t('Server default model')], ...[...new Set([...models, one.model])].filter(Boolean).map((id) => [id, shown(id, 100)])];
    one.stopButton = button(t('Stop'), () => one.stop?.abort(), { disabled: !one.stop, 'aria-label': t('Stop column {number}', { number: index + 1 }) });
    one.againButton = button(t('Regenerate'), () => again(one), { disabled: one.answers.length === 0 || Boolean(one.stop), 'aria-label': t('Regenerate the last answer of column {number}', { number: index + 1 }) });
    return h(
      'section',
      { class: 'card', 'aria-label': name },
      h(
        'div',
        { class: 'row' },
        prompt && select(offeredMarks.map((mark) => [mark, shown(/^\d+$/.test(mark) ? t('version {number}', { number: mark }) : mark, 60)]), one.version, (chosen) => ((one.version = chosen), remember(), lookSoon()), { 'aria-label': t('Version of column {number}', { number: index + 1 }) }),
        select(offeredModels, one.model, (chosen) => ((one.model = chosen), remember()), { 'aria-label': t('Model of column {number}', { number: index + 1 }) }),
      ),
      h(
        'div',
        { class: 'row' },
        one.stopButton,
        one.againButton,
        button(t('Copy answer'), () => copy(one), { 'aria-label': t('Copy answer of column {number}', { number: index + 1 }) }),
        button(t('Save test case'), () => saveCase(one), { 'aria-label': t('Save test case: column {number}', { number: index + 1 }) }),
        columns.length > 1 && button('✕', () => (one.stop?.abort(), (columns = columns.filter((other) => other !== one)), remember(), draw()), { 'aria-label': t('Remove column {number}', { number: index + 1 }) }),
      ),
      one.body,
    );
  }

  function request(one) {
    const named = prompt ? { prompt_id: prompt, ...(/^\d+$/.test(one.version) ? { prompt_version: one.version } : { prompt_label: one.version }), prompt_variables: form.value } : {};
    return { ...named, ...(one.model ? { model: one.model } : {}), messages: one.messages, stream: true, stream_options: { include_usage: true } };
  }

  /** Gets one answer in a column. Resolves to whether it is complete. */
  async function answer(one) {
    one.stop = new AbortController();
    signal.addEventListener('abort', () => one.stop?.abort(), { once: true });
    one.stopButton.disabled = false;
    one.againButton.disabled = true;
    const { element, done } = answered(request(one), one.stop.signal);
    one.body.append(element);
    const found = await done;
    one.stop = null;
    one.stopButton.disabled = true;
    one.againButton.disabled = false;
    one.answers.push({ at: one.messages.length, found });
    if (found.message) one.messages = [...one.messages, found.message];
    return found.whole;
  }

  async function played(one) {
    one.stop?.abort();
    one.messages = [];
    one.answers = [];
    fill(one.body);
    if (prompt && (leads || turns.length === 0) && !(await answer(one))) return;
    for (const text of turns) {
      if (signal.aborted || !(await next(one, text))) return;
    }
  }

  function next(one, text) {
    one.messages = [...one.messages, { role: 'user', content: text }];
    one.body.append(h('div', { class: 'turn user' }, h('strong', null, t('user')), h('pre', null, shown(text))));
    return answer(one);
  }

  async function run() {
    if (!prompt && turns.length === 0 && textOf(turn).trim() === '') {
      fill(outcome, h('p', { class: 'warn', role: 'alert' }, t('Choose a prompt or enter a user message.')));
      return;
    }
    if (textOf(turn).trim() && columns.every((one) => one.answers.length === 0)) taken();
    fill(outcome);
    remember();
    await Promise.all(columns.map(played));
  }

  /** Adds the entered text as a user message. */
  function taken() {
    const text = textOf(turn);
    turn.value = '';
    turns = [...turns, text];
    remember();
    draw();
    return text;
  }

  async function speak() {
    if (textOf(turn).trim() === '') return;
    if (columns.some((one) => one.stop)) return note(t('Wait for the answers to finish, or stop them.'));
    if (columns.every((one) => one.answers.length === 0)) return run();
    const text = taken();
    await Promise.all(columns.map((one) => next(one, text)));
  }

  async function again(one) {
    const last = one.answers.pop();
    if (!last) return;
    one.messages = one.messages.slice(0, last.at);
    one.body.lastElementChild?.remove();
    await answer(one);
  }

  async function copy(one) {
    const text = one.answers.at(-1)?.found.text ?? '';
    try {
      await navigator.clipboard.writeText(text);
      note(t('Copied.'));
    } catch {
      note(t('The browser blocked access to the clipboard.'), 'bad');
    }
  }

  /** Downloads a test case for `quillet test`. */
  async function saveCase(one) {
    const text = one.answers.at(-1)?.found.text ?? '';
    if (!prompt) return note(t('Choose a prompt first. A test case requires a prompt.'), 'bad');
    const chosen = await dialog(t('Save test case'), (close) => {
      const title = h('input', { type: 'text', required: true, autofocus: true, '.value': t('matches the answer in the playground') });
      const expects = select([['contains', t('The answer contains the text')], ['equals', t('The answer equals the text')], ['judge', t('A model judges that the answer satisfies the text')]], 'contains', () => {});
      const what = h('textarea', { rows: 5, '.value': text });
      const replies = h('input', { type: 'checkbox', '.checked': true });
      return h(
        'form',
        { onsubmit: (event) => (event.preventDefault(), close({ title: textOf(title), expects: textOf(expects), what: keepLineEndings(text, textOf(what)), reply: replies.checked ? text : null })) },
        field(t('Title'), title),
        field(t('Expectation'), expects),
        field(t('Text'), what),
        h('div', { class: 'row' }, replies, h('label', { for: (replies.id = 'case-replies') }, t('Replay this answer instead of calling the model'))),
        h('p', { class: 'quiet' }, t('Downloads a .fixture.yaml file for quillet test. When you run the file, select the store of this server with the option -s.')),
        h('div', { class: 'row end' }, button(t('Cancel'), () => close(undefined)), h('button', { class: 'main' }, t('Download file'))),
      );
    });
    if (!chosen) return;
    const name = one.version === 'latest' ? prompt : `${prompt}@${one.version}`;
    const blob = new Blob([fixture({ ...chosen, script: name, model: one.model, input: form.value, turns: one.messages.some(({ role }) => role === 'user') })], { type: 'application/yaml' });
    const url = URL.createObjectURL(blob);
    h('a', { href: url, download: `${prompt.replace(/[^\w.-]+/g, '_')}.fixture.yaml` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  }

  const add = button(t('Add column'), () => {
    const last = columns.at(-1);
    columns.push(column(last.version, last.model));
    remember();
    draw();
    board.lastElementChild.querySelector('select')?.focus();
  });
  search.addEventListener('input', () => {
    offer();
    if (textOf(search) === '' || prompts.includes(textOf(search))) choose(textOf(search));
  });
  offer();
  draw();
  await choose(prompt);

  return [
    h('h1', null, t('Playground')),
    h('div', { class: 'columns' }, h('div', { class: 'card' }, field(t('Prompt'), search, t('If empty, the models get only the user messages.')), offers, form.element), conversation()),
    outcome,
    h('h2', null, t('Answers')),
    board,
  ];

  function conversation() {
    return h(
      'div',
      {
        class: 'card',
        onkeydown(event) {
          if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          if (textOf(turn).trim()) speak();
          else run();
        },
      },
      h('h2', null, t('User messages')),
      said,
      field(t('Next user message'), turn, t('Press Ctrl+Enter to send the message to all columns.')),
      h(
        'div',
        { class: 'row' },
        button(t('Run'), run, { class: 'main' }),
        button(t('Send message'), speak),
        button(t('Stop all'), () => columns.forEach((one) => one.stop?.abort())),
        add,
      ),
    );
  }
}
