// Values and texts of others, of any length: a megabyte is cut, and shown whole for whoever asks.

import { note } from './app.js';
import { number, shown, t } from './text.js';
import { button, fill, h } from './view.js';

/** More than this is laid out only on demand. */
const MOST = 4_000;

/** A text; its line breaks are kept. */
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

/** A value of JSON, or a text that may hold some. */
export function json(value, props) {
  const read = parsed(value);
  return long(typeof read === 'string' ? read : written(read), props);
}

/** JSON with one member on each line. */
export function written(value) {
  return JSON.stringify(value, null, 2) ?? '';
}

/** What a text holds as JSON, if it holds an object or a list. */
export function parsed(value) {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** A part that can be opened; it is made when it is first opened. */
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

/** Puts a text on the clipboard. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    note(t('Copied.'));
  } catch {
    // No permission, or a page that is served without TLS: the old way needs neither.
    const area = h('textarea', { class: 'out', '.value': text, 'aria-hidden': 'true' });
    const focused = document.activeElement;
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    focused?.focus();
    note(done ? t('Copied.') : t('The browser does not let this page copy.'), done ? '' : 'bad');
  }
}

/** Hands a text out as a file. */
export function save(name, text, type = 'application/octet-stream') {
  const address = URL.createObjectURL(new Blob([text], { type }));
  h('a', { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** A list of names and values. */
export function facts(pairs) {
  const given = pairs.filter(([, value]) => value !== undefined && value !== null && value !== '');
  return h(
    'dl',
    { class: 'facts' },
    given.map(([name, value]) => h('div', null, h('dt', null, name), h('dd', null, value instanceof Node ? value : h('bdi', null, shown(value, 500))))),
  );
}
