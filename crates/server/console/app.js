// The shell: navigation, routing, language, theme and token.

import { hooks, keepToken, reason, Refused, token } from './api.js';
import { language, setLanguage, shown, t } from './text.js';
import { button, dialog, field, fill, h, link, select, textOf } from './view.js';
import './list.js';

/** Sections: key, name and loader. A section is loaded when it is first opened. */
const SECTIONS = [
  ['prompts', 'Prompts', () => import('./screens/prompts.js')],
  ['play', 'Playground', () => import('./screens/play.js')],
  ['traces', 'Traces', () => import('./screens/traces.js')],
  ['agents', 'Agents', () => import('./screens/agents.js')],
  ['runs', 'Runs', () => import('./screens/runs.js')],
  ['databases', 'Databases', () => import('./screens/databases.js')],
  ['scripts', 'Scripts', () => import('./screens/scripts.js')],
  ['batches', 'Batches', () => import('./screens/batches.js')],
  ['system', 'System', () => import('./screens/system.js')],
  ['docs', 'Docs', () => import('./screens/docs.js')],
];

const THEME = 'quillet.theme';
const main = h('main', { id: 'main', tabindex: '-1' });
const notes = h('div', { id: 'notes', role: 'status', 'aria-live': 'polite' });
let leave = new AbortController();
let hold = null;
let here = location.hash;

/** Parses the address, such as `#/prompts/ID?tab=versions`. */
function route() {
  const [path, query = ''] = location.hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  const parts = path.split('/').filter(Boolean).map(decoded);
  // `/docs` serves the same page.
  const first = location.pathname.endsWith('/docs') ? 'docs' : 'prompts';
  return { path: parts.length ? parts : [first], query: new URLSearchParams(query) };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Returns the address of a view, from path segments and query parameters. */
export function address(parts, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== '');
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return `#/${parts.map(encodeURIComponent).join('/')}${given.length ? `?${search}` : ''}`;
}

/** Opens a view. */
export function go(parts, query) {
  location.hash = address(parts, query);
}

/** Changes query parameters in the address without reopening the view. */
export function keep(query) {
  const { path, query: now } = route();
  const all = { ...Object.fromEntries(now), ...query };
  history.replaceState(null, '', address(path, all));
  here = location.hash;
}

/** Sets a check that runs before the user leaves the view. `may()` resolves to whether they can leave. */
export function beforeLeaving(may) {
  hold = may;
}

/** Handles a change of the address. Keeps the old address until the check allows the user to leave. */
async function moved() {
  const to = location.hash;
  if (hold) {
    const from = hold;
    history.replaceState(null, '', here || '#/');
    if (!(await from()) || hold !== from) return;
    history.replaceState(null, '', to);
  }
  open();
}

/** Shows a notification, which screen readers announce. */
export function note(text, kind = '') {
  const element = h('div', { class: kind }, shown(text, 500));
  notes.append(element);
  setTimeout(() => element.remove(), kind === 'bad' ? 12_000 : 5_000);
}

/** Renders an error with its code, hint and diagnostics. */
export function problem(error) {
  const hint = error instanceof Refused && error.hint;
  const findings = (error instanceof Refused && error.problem.diagnostics) || [];
  return h(
    'div',
    { class: 'problem', role: 'alert' },
    h('strong', null, shown(reason(error), 2000)),
    error.code ? h('div', null, h('code', null, shown(error.code))) : null,
    hint ? h('div', null, t('Hint: {hint}', { hint: shown(hint, 2000) })) : null,
    findings.map(finding),
  );
}

/** Renders a diagnostic of a definition. */
export function finding(found) {
  const place = [found.source, found.line ?? found.position?.line, found.column ?? found.position?.column];
  return h(
    'div',
    { class: `problem ${found.severity === 'warning' ? 'warning' : ''}` },
    h('code', null, shown(place.filter((part) => part !== undefined && part !== '').join(':'), 300)),
    ' ',
    shown(found.message, 2000),
    found.help ? h('div', { class: 'quiet' }, shown(found.help, 2000)) : null,
  );
}

/** Runs `work`, shows an error if it fails, and returns whether it succeeded. */
export async function attempt(work) {
  try {
    await work();
    return true;
  } catch (error) {
    if (error.name !== 'AbortError') note(reason(error), 'bad');
    return false;
  }
}

async function open() {
  leave.abort();
  leave = new AbortController();
  const { signal } = leave;
  const to = route();
  hold = null;
  here = location.hash;
  drawSections(to.path[0]);
  const section = SECTIONS.find(([key]) => key === to.path[0]);
  const moved = document.activeElement?.closest?.('nav');
  main.setAttribute('aria-busy', 'true');
  let view;
  try {
    if (!section) throw new Error(t('Page not found.'));
    const { default: screen } = await section[2]();
    view = await screen({ ...to, signal });
  } catch (error) {
    if (signal.aborted) return;
    view = [h('h1', null, t('Something went wrong')), problem(error)];
  }
  if (signal.aborted) return;
  fill(main, view);
  main.removeAttribute('aria-busy');
  const title = main.querySelector('h1')?.textContent ?? '';
  document.title = title ? `${title.slice(0, 80)} · Quillet` : 'Quillet';
  if (!moved) main.focus({ preventScroll: true });
  scrollTo(0, 0);
}

const nav = h('nav', { 'aria-label': 'Quillet' });

function drawSections(current) {
  const theme = document.documentElement.dataset.theme ?? '';
  fill(
    nav,
    h('div', { class: 'brand' }, 'Quillet'),
    SECTIONS.map(([key, name]) =>
      link(t(name), `#/${key}`, { 'aria-current': key === current ? 'page' : null }),
    ),
    h(
      'div',
      { class: 'end' },
      select([['en', 'English'], ['zh', '中文']], language, (chosen) => (setLanguage(chosen), open()), { 'aria-label': t('Language') }),
      select(
        [['', t('Theme: system')], ['light', t('Theme: light')], ['dark', t('Theme: dark')]],
        theme,
        setTheme,
        { 'aria-label': t('Theme') },
      ),
      button(token() ? t('Change token') : t('Set token'), async () => {
        const given = await askToken(false);
        if (given === undefined || given === null) return;
        keepToken(given);
        open();
      }),
    ),
  );
}

function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  localStorage.setItem(THEME, theme);
}

function askToken(wrong) {
  return dialog(t('Set access token'), (close) => {
    const input = h('input', { type: 'password', autocomplete: 'off', autofocus: true });
    return h(
      'form',
      { onsubmit: (event) => (event.preventDefault(), close(textOf(input).trim())) },
      wrong && h('p', { class: 'bad', role: 'alert' }, t('The server rejected the token. It is invalid or was revoked.')),
      field(t('Access token'), input, t('The token is kept until you close this tab.')),
      h('div', { class: 'row end' }, button(t('Cancel'), () => close(null)), h('button', { class: 'main' }, t('Use token'))),
    );
  });
}

hooks.askToken = askToken;
setTheme(localStorage.getItem(THEME) ?? '');
document.body.append(
  h('a', { class: 'skip', href: '#main', onclick: (event) => (event.preventDefault(), main.focus()) }, t('Skip to content')),
  nav,
  main,
  notes,
);
addEventListener('hashchange', moved);
open();
