// Renders untrusted values of any length. Long text is shortened until the user expands it.

import { note } from './app.js';
import { number, shown, t } from './text.js';
import { button, fill, h } from './view.js';

/** Longer text is shown in full only on request. */
const MOST = 4_000;

/** Renders a text with its line breaks. */
export function long(text, props) {
  const all = String(text);
  const pre = h('pre', { ...props, class: `foreign ${props?.class ?? ''}`.trim() }, shown(all, MOST));
  if (all.length <= MOST) return pre;
  const more = button(t('Show all ({count} characters)', { count: number(all.length) }), () => {
    fill(pre, shown(all));
    more.remove();
  });
  return h('div', null, pre, more);
}

/** Renders a JSON value, or a string that can contain JSON. */
export function json(value, props) {
  const read = parsed(value);
  return long(typeof read === 'string' ? read : written(read), props);
}

/** Formats a value as indented JSON. */
export function written(value) {
  return JSON.stringify(value, null, 2) ?? '';
}

/** Parses a string that contains a JSON object or array. Returns other values unchanged. */
export function parsed(value) {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** Creates a collapsible section. Its content is created when it is first opened. */
export function fold(title, make, open = false) {
  const body = h('div');
  let made = false;
  const element = h(
    'details',
    {
      open,
      ontoggle: () => {
        if (!element.open || made) return;
        made = true;
        fill(body, make());
      },
    },
    h('summary', null, title),
    body,
  );
  if (open) {
    made = true;
    fill(body, make());
  }
  return element;
}

/** Copies a text to the clipboard. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    note(t('Copied.'));
  } catch {
    // Fallback without clipboard permission or TLS.
    const area = h('textarea', { class: 'out', '.value': text, 'aria-hidden': 'true' });
    const focused = document.activeElement;
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    focused?.focus();
    note(done ? t('Copied.') : t('The browser blocked access to the clipboard.'), done ? '' : 'bad');
  }
}

/** Downloads a text as a file. */
export function save(name, text, type = 'application/octet-stream') {
  const address = URL.createObjectURL(new Blob([text], { type }));
  h('a', { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** Renders a list of names and values. */
export function facts(pairs) {
  const given = pairs.filter(([, value]) => value !== undefined && value !== null && value !== '');
  return h(
    'dl',
    { class: 'facts' },
    given.map(([name, value]) => h('div', null, h('dt', null, name), h('dd', null, value instanceof Node ? value : h('bdi', null, shown(value, 500))))),
  );
}
