// Renders the events of a running script: model text, output, tool calls and result.

import { ask, events } from './api.js';
import { problem } from './app.js';
import { number, shown, t } from './text.js';
import { fold, json } from './value.js';
import { button, fill, h } from './view.js';

/**
 * Runs a script when `button` is pressed or `start()` is called. `request()` returns `{ where, body }`,
 * or nothing if the script cannot run. Shows the events in `out`. `busy(is)` is called at the start and
 * at the end. The `stop` button aborts the run.
 */
export function runner({ out, signal, request, busy, type }) {
  const run = h('button', { class: type === 'button' ? null : 'main', type: type ?? 'submit', onclick: type === 'button' ? () => start() : null }, t('Run'));
  const stop = button(t('Stop'), () => running?.abort(), { hidden: true });
  let running = null;

  async function start() {
    const asked = running ? null : request();
    if (!asked) return;
    running = new AbortController();
    const leave = () => running?.abort();
    signal.addEventListener('abort', leave);
    run.disabled = true;
    busy?.(true);
    stop.hidden = false;
    const view = played();
    fill(out, h('h2', null, t('Run')), view.node);
    try {
      const response = await ask('POST', asked.where, { body: { ...asked.body, stream: true }, signal: running.signal });
      let whole = false;
      for await (const { event, data } of events(response)) {
        if (event === 'done') whole = true;
        else view.take(data);
      }
      if (!whole && !view.failed()) throw new Error(t('The stream ended before the script finished.'));
    } catch (error) {
      if (!signal.aborted) out.append(error.name === 'AbortError' ? h('p', { class: 'warn', role: 'status' }, t('Stopped.')) : problem(error));
    } finally {
      signal.removeEventListener('abort', leave);
      running = null;
      run.disabled = false;
      busy?.(false);
      stop.hidden = true;
    }
  }

  return { button: run, stop, start };
}

export function warning(one) {
  return h('p', { class: 'warn foreign' }, shown(typeof one === 'string' ? one : (one.message ?? JSON.stringify(one)), 1000));
}

/** Creates the view of a run. `take(chunk)` handles each chunk of the stream. */
function played() {
  const node = h('div', { role: 'log', 'aria-label': t('Events') });
  let text = null;
  let inner = null;
  let broken = false;

  const line = (label, ...more) => {
    inner = null;
    node.append(h('div', { class: 'turn tool' }, h('span', { class: 'badge' }, label), ' ', ...more));
  };

  function piece(role, words) {
    if (inner?.role !== role) {
      inner = { role, element: h('pre', { class: 'foreign' }) };
      node.append(h('div', { class: 'turn quiet' }, h('span', { class: 'badge' }, t('intermediate')), ' ', h('bdi', null, shown(role ?? '', 40)), inner.element));
    }
    inner.element.append(shown(words ?? ''));
  }

  function happened(script) {
    switch (script.event) {
      case 'delta':
        return piece(script.role, script.text);
      case 'printed':
        return line(t('printed'), h('bdi', null, shown(script.text, 4000)));
      case 'tool_call':
        return line(t('Tool call'), h('code', null, h('bdi', null, shown(script.name, 200))), json(script.arguments ?? {}));
      case 'tool_result':
        return line(t('Result'), h('code', null, h('bdi', null, shown(script.name, 200))), json(script.result ?? null));
      case 'tool_failed':
        return line(t('Error'), h('code', null, h('bdi', null, shown(script.name, 200))), h('div', { class: 'bad foreign' }, shown(script.message, 2000)));
      case 'warning':
        return node.append(warning(script.warning));
      case 'result':
        return node.append(
          h('h3', null, t('Result')),
          json(script.result ?? null),
          h('p', { class: 'quiet' }, t('Model calls: {count}', { count: number(script.model_calls ?? 0) })),
          ...(script.enforced?.length ? [fold(t('How answer formats were enforced'), () => json(script.enforced))] : []),
          ...(script.warnings ?? []).map(warning),
        );
      default:
        return line(shown(script.event, 60), json(script));
    }
  }

  function take(chunk) {
    if (chunk?.error) {
      broken = true;
      node.append(problem(Object.assign(new Error(chunk.error.message ?? JSON.stringify(chunk.error)), { code: chunk.error.code })));
      return;
    }
    if (chunk?.script) happened(chunk.script);
    const delta = chunk?.choices?.[0]?.delta ?? {};
    if (delta.reasoning_content) piece(t('Reasoning'), delta.reasoning_content);
    if (delta.content) {
      if (!text) {
        inner = null;
        text = h('pre', { class: 'foreign' });
        node.append(h('div', { class: 'turn' }, text));
      }
      text.append(shown(delta.content));
    }
    if (chunk?.usage) node.append(h('p', { class: 'quiet' }, t('{input} tokens in, {output} out', { input: number(chunk.usage.prompt_tokens), output: number(chunk.usage.completion_tokens) })));
  }

  return { node, take, failed: () => broken };
}
