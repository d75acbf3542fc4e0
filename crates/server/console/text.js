// Translations and formatting of numbers, times and untrusted text.

import prompts from './zh/prompts.js';
import shell from './zh/shell.js';
import work from './zh/work.js';

const zh = { ...shell, ...prompts, ...work };

const KEPT = 'quillet.language';

/** `en` or `zh`: the user's choice, or the language of the browser. */
export let language = localStorage.getItem(KEPT) ?? (navigator.language.startsWith('zh') ? 'zh' : 'en');
document.documentElement.lang = language;

export function setLanguage(chosen) {
  localStorage.setItem(KEPT, chosen);
  language = chosen;
  document.documentElement.lang = chosen;
}

/** Returns a text in the user's language. Values replace placeholders such as `{name}`. */
export function t(english, values) {
  const text = language === 'zh' ? (zh[english] ?? english) : english;
  if (!values) return text;
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

/** Formatters by language. Cached, because creating one is slow. */
const FORMATS = {};

function formats() {
  FORMATS[language] ??= {
    number: new Intl.NumberFormat(language),
    time: new Intl.DateTimeFormat(language, { dateStyle: 'short', timeStyle: 'medium' }),
  };
  return FORMATS[language];
}

/** Formats a number. */
export function number(value) {
  return formats().number.format(value);
}

/** Formats US dollars. Small amounts have two significant digits. */
export function money(value) {
  if (value === undefined || value === null) return '';
  if (value === 0) return '$0';
  if (value < 1e-6) return '< $0.000001';
  return `$${value < 0.01 ? value.toPrecision(2) : value.toFixed(4)}`;
}

/** Formats a duration in microseconds. */
export function took(us) {
  if (us < 1e3) return `${Math.round(us)} µs`;
  if (us < 1e6) return `${(us / 1e3).toFixed(1)} ms`;
  return `${(us / 1e6).toFixed(2)} s`;
}

/** Formats a time in the local time zone. Takes milliseconds or an RFC 3339 string. */
export function when(time) {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return String(time);
  return formats().time.format(date);
}

/** Invisible characters and characters that change the text direction. */
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** Returns untrusted text for display, with invisible and direction-changing characters made visible. */
export function shown(text, most = Infinity) {
  const all = String(text);
  const part = all.length > most ? `${all.slice(0, most)}…` : all;
  return part.replace(HIDDEN, (sign) => {
    const code = sign.codePointAt(0);
    // Unicode control pictures.
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });
}
