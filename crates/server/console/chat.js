// A chat with an agent, or with a model and tools. The tab stores the messages shown, and the server
// stores the session.

import { answer, ENDS } from './answer.js';
import { ask, get, path as at, send } from './api.js';
import { address, attempt, keep, note, problem } from './app.js';
import { follow } from './follow.js';
import { shown, t } from './text.js';
import { fold } from './value.js';
import { button, field, fill, h, later, link, textOf } from './view.js';

const KEPT = 'quillet.talk.';

export function chat(agent, query, signal) {
  let session = query.get('session');
  if (!session) {
    session = `console-${crypto.randomUUID?.() ?? Math.random().toString(36).slice(2)}`;
    keep({ session });
  }
  const talk = read(session);
  const log = h('div', { role: 'log', 'aria-label': t('Conversation'), class: 'talk', tabindex: '0' });
  const area = h('textarea', { rows: '3' });
  const submit = h('button', { class: 'main' }, t('Send message'));
  const stop = button(t('Stop'), () => cancel(), { hidden: true });
  const state = h('p', { class: 'quiet', role: 'status' });
  const durable = h('input', { type: 'checkbox', '.checked': query.get('durable') === '1', onchange: () => keep({ durable: durable.checked ? 1 : '' }) });
  const tools = h('input', { type: 'text', '.value': query.get('tools') ?? '', oninput: () => keep({ tools: textOf(tools) }), placeholder: 'prompt/hello' });
  const waiting = h('input', { type: 'text', '.value': query.get('ask') ?? '', oninput: () => keep({ ask: textOf(waiting) }), placeholder: 'prompt_*' });
  const write = later(() => store(session, talk), 300);
  let running = null;

  function body(text) {
    const builtin = Object.fromEntries(words(textOf(tools)).map((name) => [name, {}]));
    const asking = words(textOf(waiting));
    return {
      ...(agent ? { model_config: { model_id: `agent/${agent}`, model: `agent/${agent}` } } : {}),
      session_id: session,
      input: { text },
      ...(Object.keys(builtin).length || asking.length ? { tools: { ...(Object.keys(builtin).length ? { builtin } : {}), ...(asking.length ? { ask: asking } : {}) } } : {}),
      features: { resumable: true, ...(durable.checked ? { durable: true } : {}) },
    };
  }

  function ready(is) {
    submit.disabled = !is;
    stop.hidden = is;
    log.setAttribute('aria-busy', String(!is));
    if (is) state.textContent = '';
  }

  /** Draws a turn and the events received so far. */
  function show(turn) {
    log.append(h('div', { class: 'turn user' }, h('span', { class: 'badge' }, t('You')), ' ', h('bdi', null, shown(turn.text))));
    const view = answer({ id: () => turn.id, choose: say, decided: (call) => decided(turn, view, call) });
    log.append(view.node);
    for (const [event, data] of turn.events) view.take(event, data);
    if (turn.failed) view.node.append(again(turn));
    return view;
  }

  function decided(turn, view, call) {
    remember(turn, 'approval.decided', { id: call });
    view.take('approval.decided', { id: call });
    store(session, talk);
    // The run resumes when no pending calls are left.
    if (!view.waits()) run(turn, view, null);
  }

  function again(turn) {
    const row = h('div', { class: 'problem' }, h('div', null, shown(turn.failed, 2000)), button(t('Retry'), () => (row.remove(), say(turn.text))));
    return row;
  }

  /** Follows a turn to its end. Without `begin`, resumes after the last event received. */
  async function run(turn, view, begin) {
    if (running) return;
    running = turn;
    turn.ended = false;
    delete turn.failed;
    ready(false);
    try {
      await follow(begin, turn, {
        signal,
        take: (event, data) => {
          const low = log.scrollHeight - log.scrollTop - log.clientHeight < 60;
          view.take(event, data);
          remember(turn, event, data);
          if (ENDS.includes(event)) turn.ended = true;
          if (low) log.scrollTop = log.scrollHeight;
          write();
        },
        lost: (attempt) => {
          state.textContent = attempt ? t('Connection lost. Reconnecting (attempt {attempt})…', { attempt }) : t('Reconnected.');
        },
      });
    } catch (error) {
      if (signal.aborted) return;
      turn.ended = true;
      turn.failed = error.status === 404 ? t('This answer is lost: the server restarted, and the run was not durable.') : error.message;
      if (error.status && error.status !== 404) view.node.append(problem(error));
      view.node.append(again(turn));
    } finally {
      running = null;
      if (!signal.aborted) ready(true);
      store(session, talk);
    }
  }

  function say(text) {
    if (!text.trim() || running) return;
    const turn = { id: `req-${Array.from(crypto.getRandomValues(new Uint8Array(6)), (byte) => byte.toString(16).padStart(2, '0')).join('')}`, last: 0, text, ended: false, events: [] };
    const request = turn.id;
    turn.request = request;
    const sent = body(text);
    talk.push(turn);
    store(session, talk);
    const view = show(turn);
    log.scrollTop = log.scrollHeight;
    run(turn, view, () => ask('POST', 'v1/response', { body: sent, signal, headers: { 'x-request-id': request } }));
  }

  async function cancel() {
    const turn = running;
    if (!turn) return;
    state.textContent = t('Stopping…');
    await attempt(() => send('POST', 'v1/response/cancel', { request_id: turn.id }));
  }

  const form = h(
    'form',
    {
      onsubmit: (event) => {
        event.preventDefault();
        if (running) return note(t('The previous answer is still in progress.'));
        say(textOf(area));
        area.value = '';
      },
    },
    field(t('Message'), area, t('Press Enter to send, or Shift+Enter for a new line.')),
    h('div', { class: 'row' }, submit, stop, state),
  );
  area.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });

  let last = null;
  for (const turn of talk) last = [turn, show(turn)];
  if (last) takeUp(...last);
  requestAnimationFrame(() => (log.scrollTop = log.scrollHeight));

  /** Resumes a turn after the user left the tab, or after an approval decision made elsewhere. */
  async function takeUp(turn, view) {
    if (!turn.ended) return run(turn, view, null);
    if (!view.waits()) return undefined;
    const found = await get(at`v1/runs/${turn.id}`, { signal }).catch(() => null);
    return found && found.state !== 'waiting' && !signal.aborted ? run(turn, view, null) : undefined;
  }

  return [
    h(
      'div',
      { class: 'row' },
      h('h1', { class: 'grow' }, agent ? h('bdi', null, shown(agent, 200)) : t('Chat with a model')),
      link(t('Agents'), address(['agents'])),
      link(t('Inbox'), address(['agents', 'inbox'])),
      button(t('Start new session'), () => (location.hash = address(['agents', 'chat', ...(agent ? [agent] : [])], { durable: durable.checked ? 1 : '', tools: textOf(tools), ask: textOf(waiting) }))),
    ),
    h('p', { class: 'quiet' }, t('Session {id}', { id: shown(session, 100) })),
    fold(t('Options'), () => [
      h('label', { class: 'row' }, durable, t('Durable: the run resumes after a server restart')),
      field(t('Additional tools'), tools, t('Comma-separated names: prompt/ID, web_search, or stored tools')),
      field(t('Tools that need approval'), waiting, t('Comma-separated name patterns')),
    ], Boolean(query.get('tools') || query.get('ask') || query.get('durable'))),
    log,
    form,
  ];
}

function words(text) {
  return text.split(',').map((word) => word.trim()).filter(Boolean);
}

/** Stores an event without data repeated from other events. Joins consecutive text deltas. */
function remember(turn, event, data) {
  if (event === 'response.start') return;
  const { blocks, ...rest } = data ?? {};
  const last = turn.events.at(-1);
  const joins = last?.[0] === event && (event === 'reasoning.delta' || (event === 'content.delta' && last[1].block_id === rest.block_id));
  if (joins) last[1].text += rest.text;
  else turn.events.push([event, rest]);
}

function read(session) {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT + session)) ?? [];
  } catch {
    return [];
  }
}

function store(session, talk) {
  try {
    sessionStorage.setItem(KEPT + session, JSON.stringify(talk));
  } catch {
    // Storage is full. The chat continues, but a reload does not restore it.
  }
}
