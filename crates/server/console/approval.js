// A call of a tool that waits for somebody: approve it, change its arguments, deny it, or say what
// it gave.

import { path as at, reason, send } from './api.js';
import { note } from './app.js';
import { shown, t, when } from './text.js';
import { json, written } from './value.js';
import { button, field, fill, h } from './view.js';

/** `waiting` is one of `GET v1/runs`; `decided()` is called when it has been decided about. */
export function approval(run, waiting, decided) {
  const body = h('div');
  const node = h(
    'section',
    { class: 'card approval', 'aria-label': t('Approval'), data: { call: waiting.call } },
    h('div', null, h('strong', null, t('May this be called?')), ' ', h('code', null, h('bdi', null, shown(waiting.tool, 200)))),
    waiting.why === 'unknown' && h('p', { class: 'warn' }, t('A process ended while it was called: nobody knows whether it was done.')),
    waiting.expires_ms && h('p', { class: 'quiet' }, t('Until {time}; then it is denied.', { time: when(waiting.expires_ms) })),
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
        button(t('Change the arguments'), edit),
        button(t('Deny'), deny, { class: 'danger' }),
        waiting.why === 'unknown' && button(t('I know the result'), result),
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
            wrong.textContent = take(area.value) ?? '';
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
    form(t('Arguments'), t('An object of JSON.'), written(waiting.arguments ?? {}), t('Approve with these'), (text) => {
      let given;
      try {
        given = JSON.parse(text);
      } catch (error) {
        return t('This is not JSON: {why}', { why: error.message });
      }
      if (given === null || typeof given !== 'object' || Array.isArray(given)) return t('The arguments have to be an object: {example}', { example: '{"name": "Ada"}' });
      decide({ decision: 'edit', arguments: given });
      return null;
    }, 'arguments');
  }

  function deny() {
    form(t('Why not'), t('The model reads it; it may be empty.'), '', t('Deny'), (text) => void decide({ decision: 'deny', ...(text.trim() ? { note: text } : {}) }));
  }

  function result() {
    form(t('Result'), t('The call is not made; the model reads this as its result.'), '', t('Go on with it'), (text) => void decide({ decision: 'result', text }));
  }

  ask();
  return node;
}

const SAID = { approve: 'Approved.', edit: 'Approved with other arguments.', deny: 'Denied.', result: 'The model reads this result.' };
