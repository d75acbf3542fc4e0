// Renders a schema of the OpenAPI document as text.

import { shown, t } from './text.js';
import { fold } from './value.js';
import { h } from './view.js';

/** Nested and recursive schemas are collapsed. */
export function schema(api, of, depth = 0) {
  const { name, value } = resolved(api, of);
  if (!value) return h('p', { class: 'quiet' }, t('any value'));
  const options = value.oneOf ?? value.anyOf;
  if (options) {
    const real = options.filter((one) => one.type !== 'null');
    if (real.length === 1) return schema(api, real[0], depth);
    return h('div', null, t('one of'), h('ul', null, real.map((one) => h('li', null, schema(api, one, depth + 1)))));
  }
  if (value.allOf) return value.allOf.map((one) => schema(api, one, depth));
  if (value.type === 'array' || value.items) {
    return h('div', null, t('array of'), ' ', schema(api, value.items ?? {}, depth));
  }
  const members = Object.entries(value.properties ?? {});
  if (members.length === 0) return h('p', { class: 'quiet foreign' }, kind(api, of), value.description ? ` · ${shown(value.description, 500)}` : null);
  const list = () =>
    h(
      'ul',
      { class: 'members' },
      members.map(([member, its]) =>
        h(
          'li',
          null,
          h('code', null, shown(member, 100)),
          ' ',
          h('span', { class: 'quiet' }, kind(api, its), (value.required ?? []).includes(member) ? ` · ${t('required')}` : null),
          ' ',
          h('span', { class: 'foreign' }, shown(resolved(api, its).value?.description ?? its.description ?? '', 1000)),
          isDeep(api, its) ? schema(api, its, depth + 1) : null,
        ),
      ),
    );
  return depth === 0 ? list() : fold(h('code', null, shown(name ?? t('object'), 100)), list);
}

function resolved(api, of) {
  if (!of?.$ref) return { name: null, value: of };
  const name = of.$ref.split('/').pop();
  return { name, value: api.components?.schemas?.[name] };
}

/** Returns the name of a type. English uses the JSON name. */
function named(type) {
  const words = {
    string: t('type: string'),
    integer: t('type: integer'),
    number: t('type: number'),
    boolean: t('type: boolean'),
    object: t('type: object'),
    array: t('type: array'),
    null: t('type: null'),
  };
  return (words[type] ?? String(type)).replace(/^type: /, '');
}

/** Returns the type in a few words. */
function kind(api, of) {
  const { name, value } = resolved(api, of);
  if (!value) return t('any value');
  if (value.enum) return value.enum.map((one) => JSON.stringify(one)).join(' | ');
  if (value.type === 'array') return t('array of {what}', { what: kind(api, value.items ?? {}) });
  const options = value.oneOf ?? value.anyOf;
  if (options) return options.map((one) => kind(api, one)).join(' | ');
  const types = Array.isArray(value.type) ? value.type : [value.type];
  return name ?? types.map((type) => type === undefined ? t('any value') : named(type)).join(' | ');
}

function isDeep(api, of) {
  const { value } = resolved(api, of);
  const inner = value?.items ? resolved(api, value.items).value : value;
  const options = (inner?.oneOf ?? inner?.anyOf ?? []).map((one) => resolved(api, one).value);
  return [inner, ...options].some((one) => Object.keys(one?.properties ?? {}).length > 0);
}
