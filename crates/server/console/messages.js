// Renders model messages in the format of OpenTelemetry (`parts`) or of the OpenAI API (`content`,
// `tool_calls`).

import { shown, t } from './text.js';
import { fold, json, long, parsed } from './value.js';
import { h } from './view.js';

/** Renders a list of messages. `value` can be a list or its JSON. */
export function messages(value) {
  const list = parsed(value);
  if (!Array.isArray(list)) return json(value);
  return list.map((message) =>
    h(
      'div',
      { class: `turn ${['user', 'tool'].includes(message?.role) ? message.role : ''}` },
      h('span', { class: 'badge' }, shown(message?.role ?? '?', 60)),
      ' ',
      message?.name && h('bdi', { class: 'quiet' }, shown(message.name, 200)),
      parts(message ?? {}),
    ),
  );
}

function parts(message) {
  if (Array.isArray(message.parts)) return message.parts.map(part);
  const content = typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : (message.content ?? []);
  const reasoning = message.reasoning_content ?? message.reasoning;
  return [
    reasoning ? part({ type: 'reasoning', content: reasoning }) : null,
    Array.isArray(content) ? content.map(part) : json(content),
    (message.tool_calls ?? []).map((call) =>
      part({ type: 'tool_call', name: call.function?.name ?? call.name, arguments: call.function?.arguments ?? call.arguments }),
    ),
  ];
}

function part(part) {
  switch (part?.type) {
    case 'text':
      return long(part.content ?? part.text ?? '');
    case 'reasoning':
      return fold(t('Reasoning'), () => long(part.content ?? part.text ?? ''));
    case 'tool_call':
      return h('div', null, t('Tool call'), ' ', h('code', null, h('bdi', null, shown(part.name ?? '', 200))), json(part.arguments ?? {}));
    case 'tool_call_response':
      return json(part.response ?? part.result ?? '');
    default:
      return json(part);
  }
}

/** Renders the tool definitions sent to a model. */
export function definitions(value) {
  const list = parsed(value);
  if (!Array.isArray(list)) return json(value);
  return list.map((tool) => {
    const of = tool?.function ?? tool ?? {};
    return fold(h('code', null, h('bdi', null, shown(of.name ?? tool?.type ?? '?', 200))), () => [
      of.description ? long(of.description) : null,
      json(of.parameters ?? of.input_schema ?? of),
    ]);
  });
}
