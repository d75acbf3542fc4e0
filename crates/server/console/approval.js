// A pending tool call: approve it, edit its arguments, deny it, or enter its result.

import { path as at, reason, send } from './api.js';
import { note } from './app.js';
import { shown, t, when } from './text.js';
import { json, written } from './value.js';
import { button, field, fill, h, textOf } from './view.js';

/** `waiting` is a pending call from `GET v1/runs`. `decided()` is called after the decision. */
export function approval(run, waiting, decided) {
  const body = h('div');
  const node = h(
    'section',
    { class: 'card approval', 'aria-label': t('Approval'), data: { call: waiting.call } },
    h('div', null, h('strong', null, t('Approve this call?')), ' ', h('code', null, h('bdi', null, shown(waiting.tool, 200)))),
    waiting.why === 'unknown' && h('p', { class: 'warn' }, t('The process stopped during this call. It may or may not have completed.')),
    waiting.expires_ms && h('p', { class: 'quiet' }, t('Expires {time}. An expired call is denied.', { time: when(waiting.expires_ms) })),
    body,
  );

  async function decide(decision) {
    for (const one of node.querySelectorAll('button')) one.disabled = true;
    try {
      await send('POST', at`v1/response/${run}/decide`, { call: waiting.call, ...decision });
      fill(body, h('p', { role: 'status' }, t(SAID[decision.decision])));
      decided?.();
    } catch (error) {
      for (const one of node.querySelectorAll('button')) one.disabled = false;
      note(reason(error), 'bad');
    }
  }

  function ask() {
    fill(
      body,
      json(waiting.arguments ?? {}),
      h(
        'div',
        { class: 'row' },
        button(t('Approve'), () => decide({ decision: 'approve' }), { class: 'main' }),
        button(t('Edit arguments'), edit),
        button(t('Deny'), deny, { class: 'danger' }),
        waiting.why === 'unknown' && button(t('Enter result'), result),
      ),
    );
  }

  function form(label, about, value, sure, take, kind) {
    const area = h('textarea', { '.value': value, spellcheck: 'false' });
    const wrong = h('p', { class: 'bad', role: 'alert' });
    fill(
      body,
      kind === 'arguments' ? null : json(waiting.arguments ?? {}),
      h(
        'form',
        {
          onsubmit: (event) => {
            event.preventDefault();
            wrong.textContent = take(textOf(area)) ?? '';
          },
        },
        field(label, area, about),
        wrong,
        h('div', { class: 'row' }, h('button', { class: 'main' }, sure), button(t('Back'), () => (ask(), body.querySelector('button').focus()))),
      ),
    );
    area.focus();
  }

  function edit() {
    form(t('Arguments'), t('A JSON object.'), written(waiting.arguments ?? {}), t('Approve with these arguments'), (text) => {
      let given;
      try {
        given = JSON.parse(text);
      } catch (error) {
        return t('Invalid JSON: {why}', { why: error.message });
      }
      if (given === null || typeof given !== 'object' || Array.isArray(given)) return t('The arguments must be a JSON object, such as {example}', { example: '{"name": "Ada"}' });
      decide({ decision: 'edit', arguments: given });
      return null;
    }, 'arguments');
  }

  function deny() {
    form(t('Reason'), t('Optional. The model receives this text.'), '', t('Deny'), (text) => void decide({ decision: 'deny', ...(text.trim() ? { note: text } : {}) }));
  }

  function result() {
    form(t('Result'), t('The call is not made. The model receives this text as the result.'), '', t('Use this result'), (text) => void decide({ decision: 'result', text }));
  }

  ask();
  return node;
}

const SAID = { approve: 'Approved.', edit: 'Approved with edited arguments.', deny: 'Denied.', result: 'Result sent to the model.' };
