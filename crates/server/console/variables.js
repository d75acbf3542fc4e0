// A form for the variables that a prompt declares or its templates use.

import { shown, t } from './text.js';
import { button, field, fill, h, keepLineEndings, select, textOf } from './view.js';

/** Returns the name of a variable without the prefix for request variables. */
export function plain(path) {
  return String(path).replace(/^\.?(?:variables|args)\./, '');
}

/** Reads variables from the address. */
export function fromQuery(query) {
  try {
    const value = JSON.parse(query.get('variables') ?? '{}');
    return value && typeof value === 'object' && !Array.isArray(value) ? value : {};
  } catch {
    return {};
  }
}

/** Returns the variables for an address, or an empty string if they are too long. */
export function forQuery(values) {
  const text = JSON.stringify(values);
  return text === '{}' || text.length > 6000 ? '' : text;
}

/** Returns the `parameters` of a definition as a JSON Schema. They can have three forms. */
export function schemaOf(parameters) {
  if (Array.isArray(parameters)) {
    const named = parameters.filter((one) => one && typeof one.name === 'string');
    return {
      properties: Object.fromEntries(named.map(({ name, required, ...about }) => [name, about])),
      required: named.filter((one) => one.required === true).map((one) => one.name),
    };
  }
  if (!parameters || typeof parameters !== 'object') return { properties: {}, required: [] };
  if (parameters.properties && typeof parameters.properties === 'object') {
    return { properties: parameters.properties, required: Array.isArray(parameters.required) ? parameters.required : [] };
  }
  const named = Object.entries(parameters).filter(([, about]) => about && typeof about === 'object');
  return {
    properties: Object.fromEntries(named),
    required: named.filter(([, about]) => about.required === true).map(([name]) => name),
  };
}

/**
 * Creates the form. `change()` is called after each edit, and `value` holds the current variables.
 * `show(schema, used)` sets the fields: the schema of the declared variables and the paths used in templates.
 */
export function variablesForm(value, change) {
  let values = { ...value };
  let declared = { properties: {}, required: [] };
  let used = [];
  let json = false;
  let drawn = '';
  const element = h('div', { class: 'variables' });

  function set(name, given) {
    if (given === undefined) delete values[name];
    else values[name] = given;
    change();
  }

  function fields() {
    const all = new Map(Object.entries(declared.properties).map(([name, about]) => [name, about ?? {}]));
    const deep = new Set(used.filter((path) => path.includes('.')).map((path) => path.split('.')[0]));
    for (const name of [...used.map((path) => path.split('.')[0]), ...Object.keys(values)]) {
      if (all.has(name)) continue;
      const isTree = deep.has(name) || (typeof values[name] === 'object' && values[name] !== null);
      all.set(name, isTree ? { type: 'object' } : { undeclared: true });
    }
    return [...all];
  }

  function draw(force) {
    const all = fields();
    const signature = JSON.stringify([json, all, declared.required]);
    if (!force && signature === drawn) return;
    drawn = signature;
    const focused = element.contains(document.activeElement) ? document.activeElement.dataset.name : undefined;
    const rows = json ? [asJson()] : all.map(([name, about]) => one(name, about));
    fill(
      element,
      h(
        'div',
        { class: 'row' },
        h('h2', { class: 'grow' }, t('Variables')),
        button(json ? t('Edit as form') : t('Edit as JSON'), () => ((json = !json), draw(true), element.querySelector('button').focus()), {
          'aria-pressed': String(json),
          data: { name: '\u0000switch' },
        }),
      ),
      rows.length ? rows : h('p', { class: 'quiet' }, t('No variables.')),
    );
    if (focused === undefined) return;
    for (const other of element.querySelectorAll('[data-name]')) if (other.dataset.name === focused) other.focus();
  }

  function asJson() {
    const area = h('textarea', { rows: 8, data: { name: '\u0000json' }, '.value': JSON.stringify(values, null, 2) });
    area.addEventListener('input', () => {
      const read = parsed(area, textOf(area) || '{}');
      if (read === undefined || read === null || typeof read !== 'object' || Array.isArray(read)) {
        area.setAttribute('aria-invalid', 'true');
        return;
      }
      values = read;
      change();
    });
    return field(t('Variables (JSON)'), area, t('A JSON object that maps names to values.'));
  }

  function one(name, about) {
    const control = controlOf(name, about);
    control.dataset.name = name;
    const types = [about.type].flat().filter(Boolean).join(' | ');
    const label = h(
      'span',
      null,
      h('bdi', null, shown(name, 120)),
      ' ',
      types && h('small', null, shown(types, 60)),
      declared.required.includes(name) && h('small', null, ` ${t('required')}`),
      about.undeclared && h('small', null, ` ${t('undeclared')}`),
    );
    const notes = [
      about.description && shown(about.description, 500),
      about.default !== undefined && t('Default: {value}', { value: shown(JSON.stringify(about.default), 200) }),
    ].filter(Boolean);
    return field(label, control, [notes.join(' · '), h('span', { class: 'wrong bad' })]);
  }

  function controlOf(name, about) {
    const types = [about.type].flat();
    const now = values[name];
    if (Array.isArray(about.enum)) {
      const options = about.enum.map((option) => [JSON.stringify(option), shown(typeof option === 'string' ? option : JSON.stringify(option), 80)]);
      return select([['', t('not set')], ...options], now === undefined ? '' : JSON.stringify(now), (chosen) => set(name, chosen ? JSON.parse(chosen) : undefined));
    }
    if (types[0] === 'boolean') {
      return select([['', t('not set')], ['true', 'true'], ['false', 'false']], now === undefined ? '' : String(now), (chosen) => set(name, chosen ? chosen === 'true' : undefined));
    }
    if (types[0] === 'number' || types[0] === 'integer') {
      const input = h('input', { type: 'number', step: types[0] === 'integer' ? 1 : 'any', '.value': now ?? '' });
      input.addEventListener('input', () => set(name, textOf(input) === '' || Number.isNaN(input.valueAsNumber) ? undefined : input.valueAsNumber));
      return input;
    }
    const area = h('textarea', { class: 'short', rows: 1 });
    if (types[0] === 'object' || types[0] === 'array' || (typeof now === 'object' && now !== null)) {
      area.value = now === undefined ? '' : JSON.stringify(now, null, 1);
      area.placeholder = types[0] === 'array' ? '[…]' : '{…}';
      area.addEventListener('input', () => {
        if (textOf(area).trim() === '') return set(name, undefined);
        const read = parsed(area, textOf(area));
        if (read !== undefined) set(name, read);
      });
      return area;
    }
    let text = typeof now === 'string' ? now : now === undefined ? '' : JSON.stringify(now);
    area.value = text;
    area.addEventListener('input', () => {
      text = keepLineEndings(text, textOf(area));
      set(name, text === '' ? undefined : text);
    });
    return area;
  }

  return {
    element,
    get value() {
      return values;
    },
    set value(given) {
      values = { ...given };
      draw(true);
    },
    /** Shows errors, `[name, message]`, at their fields. Clears the errors of all other fields. */
    wrong(found) {
      const all = new Map(found);
      for (const control of element.querySelectorAll('[data-name]')) {
        const text = all.get(control.dataset.name);
        const place = control.parentElement.querySelector('.wrong');
        if (place) place.textContent = text === undefined ? '' : shown(text, 300);
        if (text !== undefined) control.setAttribute('aria-invalid', 'true');
        else if (place?.dataset.told) control.removeAttribute('aria-invalid');
        if (place) place.dataset.told = text === undefined ? '' : 'true';
      }
    },
    show(schema, paths = used) {
      declared = schema ?? declared;
      used = [...new Set(paths.map(plain))].sort();
      draw(false);
    },
  };
}

function parsed(control, text) {
  try {
    const read = JSON.parse(text);
    control.removeAttribute('aria-invalid');
    return read;
  } catch {
    control.setAttribute('aria-invalid', 'true');
    return undefined;
  }
}
