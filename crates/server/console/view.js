// Creates the nodes of the page. Text becomes text nodes and attributes and is never parsed as
// markup, even if a prompt, an answer or a name contains HTML.

/**
 * Creates an element. `props`: `on*` (listeners), `.name` (a property), `data`, and attributes, such as
 * `class`. Children: nodes, texts, numbers and lists of these. Ignores `false`, `null` and `undefined`.
 */
export function h(name, props, ...children) {
  const element = document.createElement(name);
  set(element, props);
  append(element, children);
  return element;
}

const SVG = 'http://www.w3.org/2000/svg';

/** Creates an SVG element. */
export function svg(name, props, ...children) {
  const element = document.createElementNS(SVG, name);
  set(element, props);
  append(element, children);
  return element;
}

function set(element, props) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2).toLowerCase(), value);
    else if (name.startsWith('.')) element[name.slice(1)] = value;
    else if (name === 'data') Object.assign(element.dataset, value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === false || child === null || child === undefined) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/** Replaces the children of an element and returns the element. */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

/** Returns a text with `\n` for every line break. */
export function lineFeeds(text) {
  return text.replace(/\r\n?/g, '\n');
}

/**
 * Returns the text of a field. Line breaks are `\n` in a text area, and an input has none. HTML requires
 * the same of `value`, but Chromium 148 keeps a carriage return that is inserted as text.
 */
export function textOf(control) {
  if (control instanceof HTMLTextAreaElement) return lineFeeds(control.value);
  return control instanceof HTMLInputElement ? control.value.replace(/[\r\n]+/g, '') : control.value;
}

// Removes carriage returns from inserted text before it reaches a text area, so that offsets in the
// field match its text. The user can still undo the insertion.
document.addEventListener('beforeinput', (event) => {
  if (!(event.target instanceof HTMLTextAreaElement) || !event.data?.includes('\r')) return;
  if (!['insertText', 'insertFromPaste'].includes(event.inputType) || !event.cancelable) return;
  event.preventDefault();
  document.execCommand('insertText', false, lineFeeds(event.data));
});

/** Converts an index in `lineFeeds(text)` to an index in `text`. */
function indexIn(text, index) {
  let at = index;
  for (let found = text.indexOf('\r\n'); found >= 0 && found < at; found = text.indexOf('\r\n', found + 2)) at += 1;
  return at;
}

/**
 * Returns the text of a field that was loaded with `before` and now holds `after`. Lines that were not
 * edited keep the line endings of `before`. A new line ends like the line above it.
 */
export function keepLineEndings(before, after) {
  if (!before.includes('\r')) return after;
  const was = lineFeeds(before);
  if (was === after) return before;
  let start = 0;
  while (start < was.length && start < after.length && was[start] === after[start]) start += 1;
  let tail = 0;
  while (tail < Math.min(was.length, after.length) - start && was[was.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  const [head, rest] = [before.slice(0, indexIn(before, start)), before.slice(indexIn(before, was.length - tail))];
  const above = head.lastIndexOf('\n');
  const near = above < 0 ? (before.match(/\r?\n/)?.[0] ?? '\n') : head[above - 1] === '\r' ? '\r\n' : '\n';
  const text = head + after.slice(start, after.length - tail).replaceAll('\n', near) + rest;
  // A lone carriage return directly before a line feed would be read as a single line break.
  return lineFeeds(text) === after ? text : after;
}

let numbers = 0;

/** Returns a unique element ID. */
export function id(prefix = 'i') {
  numbers += 1;
  return `${prefix}${numbers}`;
}

/** Creates a field with a label and an optional description. */
export function field(label, control, about) {
  control.id ||= id('f');
  const note = about && h('small', { id: `${control.id}-about` }, about);
  if (note) control.setAttribute('aria-describedby', note.id);
  return h('div', { class: 'field' }, h('label', { for: control.id }, label), control, note);
}

/** Creates a select element. Options are texts or `[value, text]`. */
export function select(options, value, change, props) {
  const element = h(
    'select',
    { onchange: () => change(element.value), ...props },
    options.map((option) => {
      const [of, text] = Array.isArray(option) ? option : [option, option];
      return h('option', { value: of, '.selected': String(of) === String(value) }, text);
    }),
  );
  return element;
}

export function button(text, press, props) {
  return h('button', { type: 'button', onclick: press, ...props }, text);
}

export function link(text, href, props) {
  return h('a', { href, ...props }, text);
}

/** Creates a table from column headers and rows of cells. */
export function table(caption, columns, rows, props) {
  return h(
    'div',
    { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption },
    h(
      'table',
      props,
      h('caption', { class: 'quiet' }, caption),
      h('thead', null, h('tr', null, columns.map((column) => h('th', { scope: 'col' }, column)))),
      h('tbody', null, rows.map((row) => h('tr', null, row.map((cell) => h('td', null, cell))))),
    ),
  );
}

/**
 * Creates tabs, which arrow keys can switch. `tabs`: `[key, text, make]`. `change(key)` is called when
 * the user selects a tab.
 */
export function tabs(label, tabs, chosen, change) {
  const panel = h('div', { role: 'tabpanel', id: id('p'), tabindex: '0' });
  const list = h('div', { role: 'tablist', 'aria-label': label });
  const buttons = tabs.map(([key, text]) =>
    h(
      'button',
      {
        type: 'button',
        role: 'tab',
        id: id('t'),
        'aria-controls': panel.id,
        data: { key },
        onclick: () => choose(key, true),
      },
      text,
    ),
  );
  function choose(key, tell) {
    for (const one of buttons) {
      const is = one.dataset.key === key;
      one.setAttribute('aria-selected', String(is));
      one.tabIndex = is ? 0 : -1;
      if (is) panel.setAttribute('aria-labelledby', one.id);
    }
    const make = tabs.find(([of]) => of === key)[2];
    fill(panel, make());
    if (tell) change?.(key);
  }
  list.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = buttons.indexOf(document.activeElement);
    const next = buttons[(at + step + buttons.length) % buttons.length];
    next.focus();
    next.click();
  });
  list.append(...buttons);
  choose(tabs.some(([key]) => key === chosen) ? chosen : tabs[0][0], false);
  return h('div', { class: 'tabs' }, list, panel);
}

/**
 * Opens a dialog and resolves to the value passed to `close` in `make(close)`, or to `undefined` if the
 * user dismisses it. The focus returns to where it was.
 */
export function dialog(title, make) {
  return new Promise((resolve) => {
    const heading = h('h2', { id: id('d') }, title);
    const element = h('dialog', { 'aria-labelledby': heading.id }, heading);
    let answer;
    const close = (value) => {
      answer = value;
      element.close();
    };
    element.append(make(close));
    element.addEventListener('close', () => {
      element.remove();
      resolve(answer);
    });
    document.body.append(element);
    element.showModal();
  });
}

/** Asks for confirmation. Resolves to true if the user confirms. */
export function confirm(title, text, yes, no) {
  return dialog(title, (close) =>
    h(
      'form',
      { method: 'dialog', onsubmit: (event) => (event.preventDefault(), close(true)) },
      h('p', null, text),
      h(
        'div',
        { class: 'row' },
        h('button', { class: 'main', autofocus: true }, yes),
        button(no, () => close(false)),
      ),
    ),
  );
}

/** Debounces `work` by `ms`. The arguments of the last call are used. */
export function later(work, ms) {
  let timer;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...given), ms);
  };
}
