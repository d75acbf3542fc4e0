// The prompt editor: templates with highlighting, live rendering, checks and saving.

import { ask, path as at, Refused, send } from '../api.js';
import { beforeLeaving, finding, note, problem } from '../app.js';
import { assemble, dissect, FORMATS, isScript, partOf } from '../definition.js';
import { number, shown, t } from '../text.js';
import { button, dialog, field, fill, h, id as unique, later, select, textOf } from '../view.js';
import { mergeView } from '../merging.js';
import { runner } from '../running.js';
import { rendering } from '../provenance.js';
import { latest, LONG, mentioned, offset, PAUSE, SOON, templateEditor } from '../templates.js';
import { plain, schemaOf, variablesForm } from '../variables.js';

const ROLES = ['system', 'developer', 'user', 'assistant', 'tool'];
const KEPT = 'quillet.draft.';

/**
 * `stored`: the prompt; `shared`: the variables of its views; `findings`: the element that shows the
 * diagnostics of the stored version. `saved(definition, revision, version, status)` is called after a save.
 */
export function editor({ stored, shared, findings, signal, saved }) {
  const { id } = stored;
  const file = editable(stored);
  const readOnly = stored.detail.origin === 'extension' || (typeof stored.definition === 'string' && !file);
  let base = { definition: stored.definition, revision: stored.revision, version: stored.version?.version ?? null };
  let model = modelOf(base.definition);
  let dirty = stored.revision === null;
  const parts = new Map();
  const templates = h('div');
  const result = h('div', { 'aria-busy': 'false' });
  const outcome = h('div');
  const merging = h('div');
  const state = h('span', { class: 'quiet', role: 'status' });
  const form = variablesForm(shared.values, () => (shared.change(form.value), keepSoon(), renderSoon()));
  const message = h('input', { type: 'text', maxlength: 2000 });
  const save = button(t('Save new version'), () => write(), { class: 'main', 'aria-keyshortcuts': 'Control+S' });
  const discard = button(t('Discard changes'), reset);
  const body = h('div', { class: 'columns' });
  const sentAs = file ? { type: 'text/plain; charset=utf-8' } : {};
  const checked = h('div');
  const out = h('section', { 'aria-label': t('Output') });
  const running = runner({
    out,
    signal,
    type: 'button',
    request: () => ({ where: 'api/v1/chat', body: { definition: current(), as: id, variables: form.value } }),
  });
  let calls = false;
  let used = [];

  function modelOf(definition) {
    return dissect(definition) ?? { raw: typeof definition === 'string' ? definition : JSON.stringify(definition, null, 2) };
  }

  /** Returns the definition in the editor. */
  function current() {
    if (model.raw !== undefined) return readOnly || file ? model.raw : JSON.parse(model.raw);
    if (model.restText !== undefined) model.rest = JSON.parse(model.restText);
    return assemble(model);
  }

  // Drafts survive a reload and belong to one tab.

  const keepSoon = later(keepDraft, 150);

  function keepDraft() {
    if (signal.aborted || readOnly) return;
    if (!dirty) return forget();
    try {
      sessionStorage.setItem(KEPT + id, JSON.stringify({ base, model }));
    } catch {
      // Storage is full. Leaving the page still asks.
    }
  }

  function forget() {
    sessionStorage.removeItem(KEPT + id);
  }

  function recall() {
    if (readOnly) return;
    try {
      const kept = JSON.parse(sessionStorage.getItem(KEPT + id));
      if (!kept) return;
      [base, model, dirty] = [kept.base, kept.model, true];
      note(t('Restored the unsaved changes from this tab.'));
    } catch {
      forget();
    }
  }

  addEventListener(
    'beforeunload',
    (event) => {
      if (!dirty || readOnly) return;
      keepDraft();
      event.preventDefault();
    },
    { signal },
  );

  async function mayLeave() {
    if (!dirty || readOnly || (stored.revision === null && sessionStorage.getItem(KEPT + id) === null)) return true;
    keepDraft();
    const chosen = await dialog(t('Leave without saving?'), (close) =>
      h(
        'div',
        null,
        h('p', null, t('Your changes to {id} are not saved. This tab can keep them as a draft until you return.', { id: shown(id, 120) })),
        h(
          'div',
          { class: 'row' },
          button(t('Stay on this page'), () => close('stay'), { class: 'main', autofocus: true }),
          button(t('Leave and keep draft'), () => close('keep')),
          button(t('Leave and discard draft'), () => close('discard'), { class: 'danger' }),
        ),
      ),
    );
    if (chosen === 'discard') {
      dirty = false;
      forget();
    }
    return chosen === 'discard' || chosen === 'keep';
  }

  function changed() {
    dirty = true;
    tell();
    checkSoon();
    keepSoon();
    renderSoon();
  }

  function tell() {
    state.textContent = dirty && !readOnly ? t('Not saved') : '';
    save.disabled = readOnly || !dirty;
    discard.disabled = readOnly || !dirty || stored.revision === null;
  }

  // One editor per template.

  function template(key, label, text, set) {
    const part = templateEditor({
      label,
      text,
      readOnly,
      signal,
      format: () => (file ? file : model.raw !== undefined ? 'json' : isScript(model.format) ? 'script' : model.format || 'go'),
      edited: (value) => (set(value), changed()),
    });
    parts.set(key, part);
    return part.element;
  }

  function build() {
    parts.clear();
    if (model.raw !== undefined) {
      fill(templates, file && h('h2', null, h('code', null, shown(file, 200))), template('raw', file ? t('File {name}', { name: shown(file, 200) }) : t('Definition'), model.raw, (text) => (model.raw = text)));
      return;
    }
    const names = new Set([...FORMATS, model.format || 'go']);
    const format = select([...names], model.format || 'go', (chosen) => {
      model.format = chosen;
      for (const part of parts.values()) part.again();
      changed();
    });
    format.disabled = readOnly;
    fill(
      templates,
      isScript(model.format) ? null : field(t('Format'), format),
      model.texts.map((text) =>
        [h('h2', null, isScript(model.format) ? t('Script') : h('code', null, text.key)), template(text.key, t('Template {name}', { name: text.key }), text.text, (value) => (text.text = value))],
      ),
      model.messages?.map(messageOf),
      model.messages && !readOnly && button(t('Add message'), () => (model.messages.push({ rest: { role: 'user' }, text: '' }), restructured(`messages.${model.messages.length - 1}`))),
      h('h2', null, t('Other fields')),
      restOf(),
    );
  }

  function messageOf(one, index) {
    const key = `messages.${index}`;
    const role = one.rest.role ?? '';
    const name = t('Message {number}', { number: index + 1 });
    const roles = select([...new Set([...ROLES, role])], role, (chosen) => ((one.rest.role = chosen), changed()), { 'aria-label': t('Role of message {number}', { number: index + 1 }) });
    roles.disabled = readOnly;
    const swap = (by) => {
      const other = model.messages[index + by];
      [model.messages[index], model.messages[index + by]] = [other, one];
      restructured(`messages.${index + by}`);
    };
    return h(
      'section',
      { class: 'card', 'aria-label': name },
      h(
        'div',
        { class: 'row' },
        h('h2', { class: 'grow' }, name),
        one.text !== null && roles,
        !readOnly && [
          button('↑', () => swap(-1), { 'aria-label': t('Move message {number} up', { number: index + 1 }), disabled: index === 0 }),
          button('↓', () => swap(1), { 'aria-label': t('Move message {number} down', { number: index + 1 }), disabled: index === model.messages.length - 1 }),
          button('✕', () => (model.messages.splice(index, 1), restructured()), { 'aria-label': t('Remove message {number}', { number: index + 1 }) }),
        ],
      ),
      one.text !== null
        ? template(key, t('Template of message {number}', { number: index + 1 }), one.text, (value) => (one.text = value))
        : jsonArea(t('Message {number} (JSON)', { number: index + 1 }), one.rest, (value) => (one.rest = value)),
    );
  }

  function restructured(key) {
    build();
    changed();
    if (key) queueMicrotask(() => parts.get(key)?.code.focus());
  }

  function jsonArea(label, value, set) {
    const area = h('textarea', { rows: 6, '.value': JSON.stringify(value, null, 2), 'aria-label': label });
    area.readOnly = readOnly;
    area.addEventListener('input', () => {
      try {
        set(JSON.parse(textOf(area)));
        area.removeAttribute('aria-invalid');
      } catch {
        area.setAttribute('aria-invalid', 'true');
      }
      changed();
    });
    return area;
  }

  function restOf() {
    const rest = model.restText ?? JSON.stringify(model.rest, null, 2);
    const area = h('textarea', { rows: Math.max(2, Math.min(16, rest.split('\n').length)), '.value': rest, 'aria-label': t('Other fields (JSON)') });
    const wrong = h('p', { class: 'bad', id: unique('w') });
    area.setAttribute('aria-describedby', wrong.id);
    area.readOnly = readOnly;
    area.addEventListener('input', () => {
      try {
        model.rest = object(JSON.parse(textOf(area)));
        delete model.restText;
        area.removeAttribute('aria-invalid');
        wrong.textContent = '';
        // If the user adds a template here, it gets its own editor.
        const whole = dissect(assemble(model));
        if (whole.texts.length !== model.texts.length || (whole.messages?.length ?? -1) !== (model.messages?.length ?? -1)) {
          area.addEventListener('blur', () => ((model = whole), build()), { once: true });
        }
      } catch (error) {
        model.restText = textOf(area);
        area.setAttribute('aria-invalid', 'true');
        wrong.textContent = error.message;
      }
      changed();
    });
    return [area, wrong];
  }

  // Checks the definition as if it were stored. A render stops at the first error and finds less.

  const check = latest(async () => {
    if (signal.aborted || readOnly) return;
    // The page header shows the status of the stored version.
    if (!dirty) return fill(checked);
    try {
      const definition = current();
      const { diagnostics } = await send('POST', at`api/v1/prompts/${id}/check` + (file ? '?form=file' : ''), definition, { signal, ...sentAs });
      const broken = diagnostics.some((one) => one.severity === 'error');
      fill(
        checked,
        h('p', { role: 'status' }, h('span', { class: `badge ${broken ? 'bad' : 'good'}` }, broken ? t('text is invalid') : t('text is valid')), ' ', diagnostics.length > 0 && h('span', { class: 'quiet' }, t('diagnostics: {count}', { count: number(diagnostics.length) }))),
        diagnostics.slice(0, 20).map(finding),
      );
    } catch {
      // Parse errors are shown next to the text, and a missing permission is reported on save.
      fill(checked);
    }
  });
  const checkSoon = later(check, PAUSE);

  // Live rendering.

  const render = latest(async () => {
    if (signal.aborted) return;
    let definition;
    try {
      definition = current();
    } catch (error) {
      fill(result, h('p', { class: 'bad' }, shown(error.message, 500)));
      return;
    }
    form.show(schemaOf(declared(definition)));
    const asked = { variables: form.value, segments: true, count: true, explain: true };
    result.setAttribute('aria-busy', 'true');
    try {
      // The server renders it in place of the stored version, with the same neighbouring files.
      const unstored = file ? { file: { name: file, text: definition } } : { definition };
      const answer = readOnly
        ? await send('POST', at`api/v1/render/prompts/${id}`, asked, { signal })
        : await send('POST', 'api/v1/render', { ...asked, ...unstored, as: id }, { signal });
      calls = (answer.explanation?.calls ?? []).length > 0;
      used = (answer.explanation?.variables ?? []).filter(({ from, path }) => ['request', 'missing', 'default'].includes(from) && isOfRequest(path)).map(({ path }) => path);
      form.show(undefined, used);
      point([]);
      form.wrong([]);
      fill(result, rendering(answer));
    } catch (error) {
      if (error.name === 'AbortError') return;
      failed(error, definition);
    }
    result.setAttribute('aria-busy', 'false');
  });
  const renderNow = later(render, SOON);
  const renderLate = later(render, PAUSE);

  function renderSoon() {
    const length = model.raw?.length ?? model.texts.reduce((sum, one) => sum + one.text.length, 0);
    (calls || length > LONG ? renderLate : renderNow)();
  }

  const isOfRequest = (path) => /^(variables|args)\./.test(path) || (model.format || 'go') !== 'go';

  function declared(definition) {
    if (isScript(model.format ?? '') || readOnly || file) return stored.detail.parameters;
    return definition?.parameters ?? definition?.input_variables ?? {};
  }

  function failed(error, definition) {
    const wrong = wrongValues(error);
    const missing = [...(error.problem?.missing ?? []), ...wrong.filter(([name]) => form.value[name] === undefined).map(([name]) => name)];
    form.show(schemaOf(declared(definition)), [...used, ...missing]);
    form.wrong([...missing.map((path) => [plain(path).split('.')[0], t('Missing value.')]), ...wrong]);
    const found = error instanceof Refused ? [...(error.problem.diagnostics ?? [])] : [];
    const { line, column, source } = error.problem ?? {};
    if (found.length === 0 && line !== undefined) found.push({ source, line, column, severity: 'error', message: error.message });
    point(found, missing);
    const box = problem(error);
    // It changes on every key press, so it must not interrupt a screen reader.
    box.setAttribute('role', 'status');
    fill(result, box);
  }

  /** Returns the invalid variables as `[name, message]`. */
  function wrongValues(error) {
    return (error.problem?.problems ?? []).flatMap(({ path, message }) => {
      const name = message.match(/^"(.+)" is a required property$/)?.[1] ?? plain(path).split(/[./[]/)[0];
      return name && name !== 'variables' ? [[name, message]] : [];
    });
  }

  /** Marks diagnostics of the server in the templates. */
  function point(found, missing = []) {
    for (const part of parts.values()) part.extra = [];
    for (const one of found) {
      const part = parts.get(model.raw === undefined ? partOf(one.source, model) : 'raw');
      part?.extra.push({
        place(text) {
          const start = offset(text, one.line ?? 1, one.column ?? 1);
          const is = part.read.findings.some((known) => known.message === one.message);
          return is ? null : { start, end: Math.min(text.length, start + 1), severity: one.severity ?? 'error', message: one.message, help: one.help };
        },
      });
    }
    for (const path of missing) {
      for (const part of parts.values()) {
        part.extra.push({
          place(text) {
            const start = mentioned(text, path);
            return start < 0 ? null : { start, end: start + plain(path).length, severity: 'error', message: t('Missing variable: {name}', { name: path }) };
          },
        });
      }
    }
    for (const part of parts.values()) part.draw();
  }

  // Saving.

  async function write(query = {}) {
    if (readOnly) return;
    let definition;
    try {
      definition = current();
    } catch (error) {
      fill(outcome, h('p', { class: 'bad', role: 'alert' }, t('The definition is not valid JSON: {why}', { why: error.message })));
      return;
    }
    const binding = base.revision === null ? { 'if-none-match': '*' } : { 'if-match': `"${base.revision}"` };
    const given = Object.entries({ message: textOf(message).trim(), form: file ? 'file' : '', ...query }).filter(([, value]) => value);
    const asked = given.length ? `?${new URLSearchParams(given)}` : '';
    save.disabled = true;
    try {
      const response = await ask('PUT', at`api/v1/prompts/${id}` + asked, { body: definition, headers: binding, ...sentAs });
      const version = await response.json();
      base = { definition, revision: response.headers.get('quillet-revision'), version: version.version };
      dirty = JSON.stringify(current()) !== JSON.stringify(definition);
      forget();
      check();
      message.value = '';
      const errors = version.diagnostics.filter((one) => one.severity === 'error');
      fill(outcome, version.diagnostics.map(finding));
      fill(findings);
      note(version.new ? t('Saved version {number}.', { number: version.version }) : t('No changes: the latest version is still {number}.', { number: version.version }));
      saved(definition, base.revision, version, errors.length ? 'invalid' : 'valid');
    } catch (error) {
      if (error instanceof Refused && error.status === 412) await conflict(definition);
      else refused(error);
    }
    tell();
  }

  function refused(error) {
    const isBroken = error instanceof Refused && error.code === 'history.broken';
    if (isBroken) point(error.problem.diagnostics ?? []);
    fill(outcome, problem(error), isBroken && button(t('Save anyway'), () => write({ broken: 'allow' })));
  }

  /** Starts a merge after someone else saved a version. */
  async function conflict(mine) {
    keepDraft();
    let theirs;
    try {
      const response = await ask('GET', at`api/v1/prompts/${id}/versions/latest`, { signal });
      theirs = { revision: response.headers.get('quillet-revision'), ...(await response.json()) };
    } catch (error) {
      // Someone deleted the prompt meanwhile.
      if (!(error instanceof Refused) || error.status !== 404) return refused(error);
      fill(outcome, h('p', { class: 'warn', role: 'alert' }, t('This prompt was deleted while you were editing. Save again to recreate it.')));
      base = { definition: null, revision: null, version: null };
      return;
    }
    const done = (definition) => {
      fill(merging);
      body.hidden = false;
      fill(outcome);
      // The merge buttons are gone, so move the focus.
      save.disabled = false;
      save.focus();
      if (definition === null) return;
      base = { definition: theirs.definition, revision: theirs.revision, version: theirs.version };
      model = modelOf(definition);
      dirty = true;
      build();
      tell();
      keepDraft();
      renderSoon();
    };
    body.hidden = true;
    fill(outcome);
    fill(merging, mergeView({ base: base.definition, mine, theirs, done }));
    merging.querySelector('h2').focus();
  }

  function reset() {
    [model, dirty] = [modelOf(base.definition), false];
    forget();
    fill(outcome);
    fill(checked);
    build();
    tell();
    renderSoon();
  }

  recall();
  build();
  tell();
  beforeLeaving(mayLeave);
  fill(findings, stored.detail.status === 'valid' || dirty ? null : (stored.detail.diagnostics ?? []).slice(0, 20).map(finding));
  renderSoon();

  const scriptRun = !readOnly && isScript(model.format ?? '') && h('div', { class: 'card' }, h('div', { class: 'row' }, running.button, running.stop, h('span', { class: 'quiet' }, t('Runs the text in the editor with these variables.'))), out);
  if (dirty) checkSoon();
  fill(
    body,
    h('div', null, templates, checked),
    h('div', null, h('div', { class: 'card' }, form.element), h('div', { class: 'card' }, h('h2', null, t('Result')), result), scriptRun),
  );
  const element = h(
    'div',
    {
      onkeydown(event) {
        if (event.key.toLowerCase() !== 's' || !(event.ctrlKey || event.metaKey) || event.altKey) return;
        event.preventDefault();
        write();
      },
    },
    readOnly &&
      h(
        'p',
        { class: 'warn' },
        typeof stored.definition === 'string'
          ? t('This prompt is stored in files that the console cannot edit. Edit them in the store folder.')
          : t('This prompt comes from an extension and is read-only here. Edit it in the extension.'),
      ),
    !readOnly && h('div', { class: 'row' }, h('div', { class: 'grow' }, field(t('Version message'), message)), save, discard, state),
    outcome,
    merging,
    body,
  );
  element.forget = () => ((dirty = false), forget());
  return element;
}

/** Returns the name of a prompt file that can be edited as one text. A prompt folder has two files. */
function editable({ definition, detail, version }) {
  const name = version?.file ?? '';
  return detail.origin !== 'extension' && typeof definition === 'string' && /\.(prompt|prompty|ya?ml)$/.test(name) ? name : null;
}

function object(value) {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(t('The value must be a JSON object.'));
  return value;
}
