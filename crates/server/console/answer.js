// Renders a streamed answer: text, reasoning, tool calls with timings, questions and sources.

import { approval } from './approval.js';
import { money, number, shown, t, took } from './text.js';
import { fold, json, long } from './value.js';
import { button, fill, h } from './view.js';

/** Events that end an answer. */
export const ENDS = ['response.done', 'response.cancelled', 'response.error'];

const REASONS = {
  tool_use: 'The model called a tool that this page cannot run.',
  max_tokens: 'The answer is truncated: it reached the output token limit.',
  repeated_calls: 'Stopped because the model kept repeating the same calls.',
  content_filter: 'The provider blocked the answer.',
  refusal: 'The model refused to answer.',
};

/**
 * Creates the view of an answer. `take(event, data)` handles each event. `choose(text)` receives the
 * option that the user picks, and `decided(call)` is called after an approval decision.
 */
export function answer({ id, choose, decided }) {
  const node = h('div', { class: 'answer' });
  const calls = new Map();
  const waiting = new Map();
  const foot = h('div');
  let texts = [];
  let open = null;
  let reasoning = null;
  let asked = false;

  /** Returns the element for the text of a block. A tool call starts a new element. */
  function text(block) {
    if (open?.block === block) return open;
    const element = h('div', { class: 'turn' });
    open = { block, element, all: '' };
    texts.push(open);
    reasoning = null;
    node.append(element);
    return open;
  }

  function think(piece) {
    if (!reasoning) {
      reasoning = h('pre', { class: 'foreign' });
      node.append(h('details', { class: 'turn quiet' }, h('summary', null, t('Reasoning')), reasoning));
      open = null;
    }
    reasoning.append(shown(piece));
  }

  function call(data) {
    let known = calls.get(data.id);
    if (known) return known;
    settled(data.id);
    const state = h('span', { class: 'badge', role: 'status' }, t('running'));
    const body = h('div');
    known = { state, body, input: data.input ?? {} };
    calls.set(data.id, known);
    node.append(
      h(
        'details',
        { class: 'turn tool' },
        h('summary', null, t('Tool call'), ' ', h('code', null, h('bdi', null, shown(data.name, 200))), ' ', state),
        h('div', { class: 'quiet' }, t('Arguments')),
        json(known.input),
        body,
      ),
    );
    open = null;
    reasoning = null;
    return known;
  }

  function returned(data) {
    const known = calls.get(data.id) ?? call({ id: data.id, name: data.display_name ?? data.id });
    known.state.className = `badge ${data.error ? 'bad' : 'good'}`;
    known.state.textContent = data.error
      ? t('failed after {time}', { time: ms(data.duration_ms) })
      : t('done in {time}', { time: ms(data.duration_ms) });
    fill(
      known.body,
      h('div', { class: 'quiet' }, data.error ? t('Error') : t('Result')),
      data.error ? h('div', { class: 'problem' }, long(data.error)) : json(data.output ?? null),
      data.sources?.length ? sources(data.sources) : null,
    );
  }

  function ask(data) {
    if (waiting.has(data.id)) return;
    const element = approval(id(), { call: data.id, tool: data.name, arguments: data.input, why: data.why }, () => decided?.(data.id));
    waiting.set(data.id, element);
    node.append(element);
    open = null;
  }

  /** Removes the approval of a call after a decision, made here or elsewhere. */
  function settled(call) {
    waiting.get(call)?.remove();
    waiting.set(call, null);
  }

  /** Another process resumed the run. Replaces the text shown so far with `content`. */
  function resumed(content) {
    open = null;
    reasoning = null;
    if (texts.map((one) => one.all).join('') === content) return;
    for (const one of texts) one.element.remove();
    texts = [];
    if (!content) return;
    const all = text('resumed');
    all.all = content;
    all.element.append(shown(content));
    open = null;
  }

  function question(data) {
    asked = true;
    const options = (data.options ?? []).map((option) => (typeof option === 'string' ? { label: option } : option));
    const row = h(
      'div',
      { class: 'row' },
      options.map((option) =>
        button(h('bdi', null, shown(option.label ?? option.value, 300)), () => {
          for (const one of row.querySelectorAll('button')) one.disabled = true;
          choose?.(String(option.value ?? option.label));
        }),
      ),
    );
    node.append(h('div', { class: 'turn' }, h('strong', null, h('bdi', null, shown(data.question, 2000)))), row);
  }

  function ended(event, data) {
    // A run that resumes after a decision ends again, so the last end event counts.
    fill(foot);
    node.append(foot);
    const usage = data.usage;
    if (event === 'response.error') {
      foot.append(
        h(
          'div',
          { class: 'problem', role: 'alert' },
          h('strong', null, shown(data.message ?? t('The answer failed.'), 2000)),
          h('div', null, h('code', null, shown(data.code ?? '', 100)), data.details?.retryable ? ` · ${t('A retry may succeed.')}` : null),
        ),
      );
    }
    if (event === 'response.cancelled') foot.append(h('p', { class: 'warn' }, t('Stopped.')));
    if (data.sources?.length) foot.append(sources(data.sources));
    // A question ends an answer with the same stop reason as a client-side tool call.
    if (REASONS[data.stop_reason] && !asked) foot.append(h('p', { class: 'warn' }, t(REASONS[data.stop_reason])));
    for (const warning of data.warnings ?? []) foot.append(h('p', { class: 'quiet warn' }, shown(warning, 1000)));
    if (!usage) return;
    foot.append(
      h('p', { class: 'quiet' }, t('{input} tokens in, {output} out', { input: number(usage.input_tokens), output: number(usage.output_tokens) }), data.cost_usd ? ` · ${money(data.cost_usd)}` : null),
    );
  }

  function take(event, data) {
    switch (event) {
      case 'content.delta': {
        const into = text(data.block_id);
        into.all += data.text;
        into.element.append(shown(data.text));
        break;
      }
      case 'reasoning.delta':
        think(data.text);
        break;
      case 'tool.start':
        call(data);
        break;
      case 'tool.done':
        returned(data);
        break;
      case 'tool.call_required':
        call(data).state.textContent = t('waiting for the client');
        break;
      case 'approval.required':
        ask(data);
        break;
      case 'approval.decided':
        settled(data.id);
        break;
      case 'response.resumed':
        resumed(data.content ?? '');
        break;
      case 'clarification':
        question(data);
        break;
      case 'context.compacted':
        node.append(
          h('p', { class: 'quiet' }, t('The conversation was compacted from {before} to {after} tokens.', { before: number(data.tokens_before), after: number(data.tokens_after) })),
        );
        break;
      default:
        if (ENDS.includes(event)) ended(event, data);
    }
  }

  return { node, take, waits: () => [...waiting.values()].some(Boolean) };
}

function ms(time) {
  return time >= 1 ? took(time * 1000) : '< 1 ms';
}

function sources(list) {
  return fold(t('Sources ({count})', { count: list.length }), () =>
    h(
      'ul',
      null,
      list.map((source) => h('li', null, h('bdi', null, shown(source.title ?? source.name ?? '', 300)), ' ', place(source.url ?? source.source))),
    ),
  );
}

/** Links http and https addresses. Shows all others, such as `javascript:`, as text. */
function place(address) {
  if (!address) return null;
  const text = h('bdi', null, shown(address, 500));
  if (!/^https?:\/\//i.test(address)) return text;
  return h('a', { href: address, rel: 'noreferrer noopener', target: '_blank' }, text);
}
