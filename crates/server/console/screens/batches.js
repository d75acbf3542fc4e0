// Batches: request files, progress and results.

import { ask, get, path as at, send } from '../api.js';
import { address, attempt, go, keep, note, problem } from '../app.js';
import { number, shown, t, when } from '../text.js';
import { facts, long, save } from '../value.js';
import { button, confirm, field, fill, h, link, select, tabs, textOf } from '../view.js';

const OVER = ['completed', 'failed', 'expired', 'cancelled'];
/** Polling interval for a running batch, in ms. */
const EVERY = 1_000;
/** Number of characters shown of a file. */
const SHOWN = 20_000;

export default async function batches({ path, query, signal }) {
  if (path.length > 1) return batch(path[1], signal);
  const view = tabs(
    t('Batches'),
    [
      ['batches', t('Batches'), () => list(signal)],
      ['files', t('Files'), () => files(signal)],
      ['new', t('New batch'), begin],
    ],
    query.get('tab') ?? 'batches',
    (tab) => keep({ tab }),
  );
  return [h('h1', null, t('Batches')), view];
}

/** Renders a paged list of the OpenAI API, one `row` per item. */
function pages(where, heads, row, empty, signal) {
  const body = h('tbody');
  const said = h('p', { class: 'quiet', role: 'status' });
  const more = button(t('Load more'), () => load(last), { hidden: true });
  const table = h(
    'div',
    { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': heads[0], hidden: true },
    h('table', null, h('thead', null, h('tr', null, heads.map((head) => h('th', { scope: 'col' }, head)))), body),
  );
  let last = null;
  async function load(after) {
    try {
      const found = await get(`${where}?limit=100${after ? `&after=${encodeURIComponent(after)}` : ''}`, { signal });
      if (!after) fill(body);
      body.append(...found.data.map((one) => row(one, () => load())));
      last = found.last_id;
      more.hidden = !found.has_more;
      table.hidden = body.children.length === 0;
      said.textContent = table.hidden ? empty : '';
    } catch (error) {
      if (!signal.aborted) said.replaceChildren(problem(error));
    }
  }
  load();
  return [said, table, more];
}

function list(signal) {
  return pages(
    'v1/batches',
    [t('Batch'), t('State'), t('Rows'), t('Started')],
    (one) =>
      h(
        'tr',
        null,
        h('th', { scope: 'row' }, link(h('code', null, shown(one.id, 100)), address(['batches', one.id]))),
        h('td', null, state(one.status)),
        h('td', null, counts(one.request_counts)),
        h('td', null, when(one.created_at * 1000)),
      ),
    t('No batches. To create one, submit a file of requests under New batch.'),
    signal,
  );
}

function files(signal) {
  return pages(
    'v1/files',
    [t('File'), t('Size'), t('Created'), t('Actions')],
    (one, again) =>
      h(
        'tr',
        null,
        h('th', { scope: 'row' }, h('bdi', null, shown(one.filename, 200)), h('div', { class: 'quiet mono' }, shown(one.id, 100))),
        h('td', { class: 'number' }, t('{count} bytes', { count: number(one.bytes) })),
        h('td', null, when(one.created_at * 1000)),
        h(
          'td',
          null,
          h(
            'div',
            { class: 'row' },
            button(t('Download'), () => attempt(() => download(one.id, one.filename)), { 'aria-label': t('Download {name}', { name: shown(one.filename, 100) }) }),
            button(t('Delete file'), () => remove(one, again), { class: 'danger', 'aria-label': t('Delete file {name}', { name: shown(one.filename, 100) }) }),
          ),
        ),
      ),
    t('No files. Upload batch files under New batch.'),
    signal,
  );
}

async function remove(file, again) {
  if (!(await confirm(t('Delete this file?'), h('bdi', null, shown(file.filename, 200)), t('Delete file'), t('Cancel')))) return;
  if (await attempt(() => ask('DELETE', at`v1/files/${file.id}`))) {
    note(t('File deleted.'));
    again();
  }
}

async function download(id, name) {
  const response = await ask('GET', at`v1/files/${id}/content`);
  save(name, await response.blob(), 'application/jsonl');
}

/** Creates the form that starts a batch from a file or from entered lines. */
function begin() {
  const file = h('input', { type: 'file', accept: '.jsonl,.ndjson,application/jsonl' });
  const text = h('textarea', { spellcheck: 'false', placeholder: '{"custom_id": "ada", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "prompt/hello", "variables": {"name": "Ada"}, "messages": []}}' });
  let endpoint = '/v1/chat/completions';
  const where = select(['/v1/chat/completions', '/v1/responses'], endpoint, (chosen) => (endpoint = chosen));
  const window = h('input', { type: 'text', '.value': '24h' });
  const wrong = h('div');
  const form = h(
    'form',
    {
      class: 'card',
      onsubmit: async (event) => {
        event.preventDefault();
        const given = file.files[0] ?? (textOf(text).trim() ? new File([textOf(text)], 'rows.jsonl', { type: 'application/jsonl' }) : null);
        if (!given) {
          fill(wrong, problem(new Error(t('Choose a file or enter lines.'))));
          return;
        }
        form.querySelector('button.main').disabled = true;
        try {
          const body = new FormData();
          body.set('purpose', 'batch');
          body.set('file', given);
          const kept = await send('POST', 'v1/files', body);
          const made = await send('POST', 'v1/batches', { input_file_id: kept.id, endpoint, completion_window: textOf(window) });
          go(['batches', made.id]);
        } catch (error) {
          fill(wrong, problem(error));
          form.querySelector('button.main').disabled = false;
        }
      },
    },
    field(t('File'), file, t('JSON Lines: one request per line.')),
    field(t('Or enter lines'), text),
    field(t('Route'), where),
    field(t('Completion window'), window, t('A number followed by m, h or d, such as 24h.')),
    wrong,
    h('div', { class: 'row' }, h('button', { class: 'main' }, t('Create batch'))),
  );
  return form;
}

async function batch(id, signal) {
  const body = h('div');
  const heading = h('h1', { class: 'grow' }, t('Batch'));
  let timer = null;

  async function load() {
    clearTimeout(timer);
    try {
      const one = await get(at`v1/batches/${id}`, { signal });
      draw(one);
      if (!OVER.includes(one.status)) timer = setTimeout(turn, EVERY);
    } catch (error) {
      if (signal.aborted) return;
      if (!body.firstChild || error.status === 404) throw error;
      note(error.message, 'bad');
      timer = setTimeout(turn, EVERY * 5);
    }
  }

  /** Polls only while the page is visible. */
  function turn() {
    if (signal.aborted) return;
    if (document.hidden) {
      document.addEventListener('visibilitychange', turn, { once: true, signal });
      return;
    }
    load().catch((error) => fill(body, problem(error)));
  }

  let known = '';
  function draw(one) {
    // Redraw only after a change, to keep the focus.
    const now = JSON.stringify(one);
    if (now === known) return;
    known = now;
    const { total, completed, failed } = one.request_counts;
    const focused = document.activeElement?.dataset?.do;
    fill(
      body,
      h(
        'div',
        { class: 'card' },
        facts([
          [t('Batch'), h('code', null, shown(one.id, 100))],
          [t('State'), state(one.status)],
          [t('Rows'), counts(one.request_counts)],
          [t('Route'), one.endpoint],
          [t('Started'), when(one.created_at * 1000)],
          [t('Expires'), when(one.expires_at * 1000)],
          [t('Repeated requests'), one.quillet?.asked_again ? number(one.quillet.asked_again) : null],
        ]),
        h('progress', { max: Math.max(1, total), value: completed + failed, 'aria-label': t('Progress') }),
        h(
          'div',
          { class: 'row' },
          !OVER.includes(one.status) && one.status !== 'cancelling' && button(t('Cancel batch'), () => cancel(one.id), { class: 'danger', data: { do: 'cancel' } }),
          one.output_file_id && button(t('Download answers'), () => attempt(() => download(one.output_file_id, `${one.id}.jsonl`)), { data: { do: 'output' } }),
          one.error_file_id && button(t('Download errors'), () => attempt(() => download(one.error_file_id, `${one.id}.errors.jsonl`)), { data: { do: 'errors' } }),
        ),
      ),
      (one.errors?.data ?? []).length > 0 && [
        h('h2', null, t('Errors in the file')),
        one.errors.data.map((wrong) => h('div', { class: 'problem' }, wrong.line ? t('line {line}', { line: wrong.line }) : null, ' ', h('code', null, shown(wrong.code, 60)), ' ', shown(wrong.message, 1000))),
      ],
      OVER.includes(one.status) && [look(t('Answers'), one.output_file_id, signal), look(t('Errors'), one.error_file_id, signal)],
    );
    if (focused) body.querySelector(`[data-do="${focused}"]`)?.focus();
  }

  async function cancel() {
    await attempt(() => send('POST', at`v1/batches/${id}/cancel`));
    await load();
  }

  await load();
  return [h('div', { class: 'row' }, heading, link(t('All batches'), address(['batches']))), body];
}

/** Shows the beginning of a file. */
function look(title, file, signal) {
  if (!file) return null;
  const body = h('div', null, '…');
  (async () => {
    try {
      const response = await ask('GET', at`v1/files/${file}/content`, { signal, headers: {} });
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = '';
      while (text.length < SHOWN) {
        const { value, done } = await reader.read();
        if (done) break;
        text += value;
      }
      reader.cancel().catch(() => {});
      fill(body, long(text.slice(0, SHOWN)), text.length >= SHOWN && h('p', { class: 'quiet' }, t('Only the beginning is shown. Download the file to see all of it.')));
    } catch (error) {
      if (!signal.aborted) fill(body, problem(error));
    }
  })();
  return h('section', null, h('h2', null, title), body);
}

function state(status) {
  const kind = { completed: 'good', failed: 'bad', expired: 'bad', cancelled: 'warn', cancelling: 'warn' }[status] ?? '';
  return h('span', { class: `badge ${kind}` }, t(status.replaceAll('_', ' ')));
}

function counts({ total, completed, failed }) {
  return t('{completed} completed, {failed} failed, {total} total', { completed: number(completed), failed: number(failed), total: number(total) });
}
