// Makes the nodes of the page. Texts become text nodes and attributes, and there is no way here to
// make markup out of one: whatever a prompt, an answer or a name holds stays text.

/**
 * An element. `props`: `class`, `on*` (listeners), `.name` (a property), `data`, everything else an
 * attribute; what is `false`, `null` or `undefined` is left out. Children: nodes, texts, numbers,
 * lists of these; nothing for `false`, `null` and `undefined`.
 */
export function h(name, props, ...children) {
  const element = document.createElement(name);
  set(element, props);
  append(element, children);
  return element;
}

const SVG = 'http://www.w3.org/2000/svg';

/** The same, of SVG. */
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

/** Puts these in the place of everything in an element, and gives it. */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

let numbers = 0;

/** An id that no other element has. */
export function id(prefix = 'i') {
  numbers += 1;
  return `${prefix}${numbers}`;
}

/** A labelled field. `control` gets its label, and what describes it below. */
export function field(label, control, about) {
  control.id ||= id('f');
  const note = about && h('small', { id: `${control.id}-about` }, about);
  if (note) control.setAttribute('aria-describedby', note.id);
  return h('div', { class: 'field' }, h('label', { for: control.id }, label), control, note);
}

/** A choice of texts, or of `[value, text]`. */
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

/** A table. `columns`: heads, `rows`: lists of cells. */
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
 * Views beside each other of which one is shown, by arrow keys too. `tabs`: `[key, text, make]`;
 * `change(key)` is told of a choice.
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
 * Asks in a dialog and gives what `make(close)` closes it with; `undefined` when it is left.
 * The focus goes back to where it was.
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

/** Asks whether to do something; what is asked is the dialog's text. */
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

/** Calls `work` when nothing has called for it for so long; what it was called with last counts. */
export function later(work, ms) {
  let timer;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...given), ms);
  };
}
