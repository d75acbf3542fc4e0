// Renders the output of a prompt and marks the origin of each segment.

import { finding } from './app.js';
import { money, number, shown, t } from './text.js';
import { h } from './view.js';
import { plain } from './variables.js';

/** Output with more segments or longer text is shown without marks. */
const MOST = 4000;
const LONGEST = 200_000;

const words = () => ({
  template: t('template'),
  request: t('request variable'),
  shared: t('shared variable'),
  default: t('default'),
  extension: t('extension variable'),
  tool: t('tool'),
  missing: t('missing'),
  other: t('computed'),
});

/** Returns the origin of a segment, a key of `words`. */
export function originOf(piece, explanation) {
  if (piece.kind === 'literal') return 'template';
  if (!piece.source) return 'other';
  const name = plain(piece.source);
  if ((explanation?.calls ?? []).some((call) => call.tool === piece.source)) return 'tool';
  let best = null;
  for (const variable of explanation?.variables ?? []) {
    const path = plain(variable.path);
    const is = path === name || name.startsWith(`${path}.`) || path.startsWith(`${name}.`);
    if (is && (!best || path.length > best.path.length)) best = { path, from: variable.from };
  }
  const from = typeof best?.from === 'object' ? Object.keys(best.from)[0] : best?.from;
  return from in words() ? from : 'other';
}

/** Renders the segments of one text. */
function pieces(list, explanation, seen) {
  const names = words();
  if (list.length > MOST) return shown(list.map((piece) => piece.text).join(''), LONGEST);
  return list.map((piece) => {
    const from = originOf(piece, explanation);
    seen.add(from);
    if (from === 'template') return shown(piece.text, LONGEST);
    const title = piece.source ? t('{name}: {from}', { name: shown(piece.source, 200), from: names[from] }) : names[from];
    return h('span', { class: `piece from-${from}`, title }, shown(piece.text, LONGEST));
  });
}

const joined = (list) => list.map((piece) => piece.text).join('');

/** Returns the text of a message, with placeholders for other content parts. */
export function contentOf(content) {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return content === undefined || content === null ? '' : JSON.stringify(content);
  return content.map((part) => (part.type === 'text' ? part.text : `[${part.type}: ${JSON.stringify(part).slice(0, 200)}]`)).join('\n');
}

/** Returns the rendered output as one text, for comparison. */
export function plainResult(answer) {
  const { rendered_prompt: rendered } = answer;
  if (typeof rendered === 'string') return rendered;
  return rendered.map((message) => `${message.role}:\n${contentOf(message.content)}`).join('\n\n');
}

/** Renders a render response: text or messages, legend, tokens, cost and warnings. */
export function rendering(answer) {
  const seen = new Set();
  const { explanation } = answer;
  const segments = answer.segments ?? [];
  const rendered = answer.rendered_prompt;
  let body;
  if (typeof rendered === 'string') {
    const own = segments.length === 1 && joined(segments[0]) === rendered ? segments[0] : null;
    body = h('pre', { class: 'result' }, own ? pieces(own, explanation, seen) : shown(rendered, LONGEST));
  } else {
    let at = 0;
    body = rendered.map((message) => {
      const text = contentOf(message.content);
      const own = at < segments.length && joined(segments[at]) === text ? segments[at++] : null;
      return h(
        'div',
        { class: `turn ${message.role === 'user' || message.role === 'tool' ? message.role : ''}` },
        h('strong', null, shown(message.role, 40)),
        h('pre', { class: 'result' }, own ? pieces(own, explanation, seen) : shown(text, LONGEST)),
      );
    });
    // If the template splits its own output into messages, segments exist only for the text before.
    if (at === 0 && segments.length > 0 && rendered.length > 0) {
      body.push(
        h('details', null, h('summary', null, t('Rendered text before it is split into messages')), segments.map((list) => h('pre', { class: 'result' }, pieces(list, explanation, seen)))),
      );
    }
  }
  return [body, legend(seen), counted(answer.count), warned(answer), sources(explanation)];
}

function legend(seen) {
  const names = words();
  const shownOnes = [...seen].filter((from) => from !== 'template');
  if (shownOnes.length === 0) return null;
  return h(
    'p',
    { class: 'quiet legend' },
    `${t('Origin:')} `,
    h('span', null, names.template),
    shownOnes.map((from) => [' ', h('span', { class: `piece from-${from}` }, names[from])]),
  );
}

function counted(count) {
  if (!count) return null;
  const parts = [t('{count} tokens', { count: number(count.input_tokens ?? 0) }), count.model && shown(count.model, 80)];
  if (count.cost_usd !== undefined && count.cost_usd !== null) parts.push(money(count.cost_usd));
  return h('p', { class: 'quiet', data: { count: true } }, parts.filter(Boolean).join(' · '));
}

function warned(answer) {
  const warnings = (answer.warnings ?? []).filter((warning) => warning.code !== 'request.unknown_member');
  return [
    answer.stale && h('p', { class: 'warn' }, t('The store is unavailable. Shared variables may be stale.')),
    warnings.map((warning) => finding({ ...warning, source: warning.tool ?? warning.code, severity: 'warning' })),
    (answer.dry_run?.warnings ?? []).map(finding),
    answer.dry_run?.stopped && h('p', { class: 'quiet' }, shown(answer.dry_run.stopped, 1000)),
  ];
}

/** Lists the origins as text, for readers who cannot see colours or hover. */
function sources(explanation) {
  const rows = explanation?.variables ?? [];
  const calls = explanation?.calls ?? [];
  if (rows.length + calls.length === 0) return null;
  const names = words();
  const of = (from) => (typeof from === 'object' && from !== null ? Object.keys(from)[0] : from);
  return h(
    'details',
    null,
    h('summary', null, t('Variables and tools used')),
    h(
      'ul',
      null,
      rows.slice(0, 500).map((row) => h('li', null, h('code', null, shown(row.path, 200)), ` ${names[of(row.from)] ?? shown(of(row.from))}`)),
      calls.slice(0, 500).map((call) => h('li', null, h('code', null, shown(call.tool, 200)), ` ${names.tool} `, shown(call.failure ?? call.outcome ?? '', 200))),
    ),
  );
}
