// Renders one streamed model answer: text, reasoning, tool calls and cost.

import { ask, events, Refused, send } from './api.js';
import { problem } from './app.js';
import { money, number, shown, t, took } from './text.js';
import { fill, h } from './view.js';

/** Number of characters of an answer that are shown. The full text is kept. */
const MOST = 200_000;

/**
 * Sends a chat completion request and shows the response as it streams. Returns `{ element, done }`.
 * `done` resolves to `{ text, message, whole }`: the full text, the message to add to the conversation
 * (or null), and whether the stream was complete.
 */
export function answered(request, signal) {
  const text = h('pre', { class: 'answer' });
  const thought = h('pre', { class: 'quiet' });
  const thinking = h('details', { hidden: true }, h('summary', null, t('Reasoning')), thought);
  const tools = h('div');
  const figures = h('p', { class: 'quiet', role: 'status' }, t('Waiting…'));
  const failed = h('div');
  const element = h('div', { class: 'turn assistant', 'aria-busy': 'true' }, h('strong', null, t('assistant')), thinking, text, tools, failed, figures);
  const all = { text: '', reasoning: '', calls: [] };
  let waiting = false;

  /** Draws at most once per frame. */
  function draw() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      fill(text, shown(all.text, MOST));
      thinking.hidden = all.reasoning === '';
      fill(thought, shown(all.reasoning, MOST));
      fill(
        tools,
        all.calls.map((call) => h('div', { class: 'turn tool' }, h('strong', null, t('Tool call: {tool}', { tool: shown(call.function.name, 120) })), h('pre', null, shown(pretty(call.function.arguments), 20_000)))),
      );
    });
  }

  function take(chunk, times) {
    if (chunk.usage) times.usage = chunk.usage;
    times.model = chunk.model || times.model;
    const event = chunk.script;
    if (event?.event === 'tool_call') all.calls.push({ id: '', type: 'function', function: { name: event.name, arguments: JSON.stringify(event.arguments) } });
    const delta = chunk.choices?.[0]?.delta;
    times.finish = chunk.choices?.[0]?.finish_reason ?? times.finish;
    if (!delta) return;
    const reasoning = delta.reasoning_content ?? delta.reasoning ?? '';
    const content = typeof delta.content === 'string' ? delta.content : (delta.refusal ?? '');
    if ((content || reasoning || delta.tool_calls) && times.first === null) times.first = performance.now();
    all.text += content;
    if (typeof reasoning === 'string') all.reasoning += reasoning;
    for (const call of delta.tool_calls ?? []) {
      const known = (all.calls[call.index ?? 0] ??= { id: '', type: 'function', function: { name: '', arguments: '' } });
      known.id = call.id ?? known.id;
      known.function.name += call.function?.name ?? '';
      known.function.arguments += call.function?.arguments ?? '';
    }
    draw();
  }

  async function run() {
    const times = { began: performance.now(), ended: null, first: null, usage: null, model: request.model ?? '', finish: '' };
    let whole = false;
    try {
      const response = await ask('POST', 'v1/chat/completions', { body: request, signal });
      for await (const { event, data } of events(response)) {
        if (event === 'done') whole = true;
        else if (data?.error) throw new Refused(response.status, data);
        else if (data) take(data, times);
      }
      if (!whole) throw new Error(t('The answer is truncated: the server closed the stream early.'));
    } catch (error) {
      if (signal.aborted) fill(failed, h('p', { class: 'warn' }, t('Stopped.')));
      else fill(failed, problem(error));
    }
    draw();
    element.removeAttribute('aria-busy');
    times.ended = performance.now();
    fill(figures, told(times, null));
    costOf(times, signal).then((cost) => cost !== null && fill(figures, told(times, cost)));
    const message = all.text || all.calls.length ? { role: 'assistant', content: all.text, ...(all.calls.length && all.calls.every(({ id }) => id) ? { tool_calls: all.calls } : {}) } : null;
    return { text: all.text, message, whole };
  }

  return { element, done: run() };
}

/** Returns the cost of the call, or null if the server has no price for the model. */
async function costOf({ model, usage }, signal) {
  // A script can call several models, or none.
  if (!usage || !model || /^(prompt|agent)\//.test(model)) return null;
  const known = await send('POST', 'api/v1/cost', { model, usage }, { signal }).catch(() => ({}));
  return known.cost_usd ?? null;
}

function told({ began, ended, first, usage, finish }, cost) {
  const parts = [];
  if (first !== null) parts.push(t('first token after {time}', { time: took((first - began) * 1000) }));
  parts.push(t('{time} total', { time: took((ended - began) * 1000) }));
  if (usage) parts.push(t('{input} tokens in, {output} out', { input: number(usage.prompt_tokens ?? 0), output: number(usage.completion_tokens ?? 0) }));
  if (cost !== null) parts.push(money(cost));
  if (finish && finish !== 'stop') parts.push(shown(finish, 40));
  return parts.join(' · ');
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
