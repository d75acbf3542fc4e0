// Draws a chart of query results: bars for categories, a line for times. The table below has the same
// data as text.

import { number, shown, t } from './text.js';
import { h, svg } from './view.js';

const TIMES = ['date', 'timestamp', 'instant'];
const NUMBERS = ['integer', 'float', 'decimal'];
/** Limits for readable charts. */
const MOST_BARS = 40;
const MOST_POINTS = 2_000;
const [WIDTH, HEIGHT] = [720, 300];
const [LEFT, RIGHT, TOP, BOTTOM] = [64, 12, 14, 64];

/**
 * Chooses a chart for the rows: `{ kind: 'bars' | 'line', label, value, points: [[label, value]] }`, or
 * `null` if none fits.
 */
export function plan(columns, rows) {
  if (rows.length < 2) return null;
  const of = (kinds) => columns.filter((column) => kinds.includes(kind(column, rows)));
  const value = of(NUMBERS).find((column) => !isKey(column, columns)) ?? null;
  const time = of(TIMES)[0];
  const name = time ?? of(['text', 'boolean', 'uuid'])[0] ?? of(['integer']).find((column) => column !== value);
  if (!value || !name || name === value) return null;
  const points = rows
    .map((row) => [row[name.key], row[value.key] === null ? null : Number(row[value.key])])
    .filter(([label, amount]) => label !== null && label !== undefined && amount !== null && Number.isFinite(amount));
  if (points.length < 2) return null;
  if (time) {
    if (points.length > MOST_POINTS) return null;
    return { kind: 'line', label: name.name, value: value.name, points: points.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)) };
  }
  if (points.length > MOST_BARS || new Set(points.map(([label]) => String(label))).size < points.length) return null;
  return { kind: 'bars', label: name.name, value: value.name, points };
}

/** A column of IDs is not an amount if there are other columns. */
function isKey(column, columns) {
  return columns.length > 1 && /(^|_)id$/i.test(column.name) && column === columns[0];
}

/** SQLite returns dates as text. */
function kind(column, rows) {
  if (column.type !== 'text') return column.type;
  const given = rows.map((row) => row[column.key]).filter((value) => value !== null && value !== undefined);
  return given.length > 1 && given.every((value) => /^\d{4}-\d{2}(-\d{2}([T ].*)?)?$/.test(value)) ? 'date' : 'text';
}

/** Draws the chart. */
export function chart(planned) {
  const { kind, points } = planned;
  const values = points.map(([, value]) => value);
  const low = Math.min(0, ...values);
  const high = Math.max(0, ...values);
  const marks = ticks(low, high);
  const [bottom, top] = [Math.min(low, marks[0]), Math.max(high, marks.at(-1))];
  const y = (value) => TOP + ((top - value) / (top - bottom || 1)) * (HEIGHT - TOP - BOTTOM);
  const step = (WIDTH - LEFT - RIGHT) / points.length;
  const x = (index) => (kind === 'bars' ? LEFT + index * step : LEFT + (index / (points.length - 1)) * (WIDTH - LEFT - RIGHT));
  const largest = points.reduce((best, point) => (point[1] > best[1] ? point : best));
  const title = t('{value} by {label}', { value: shown(planned.value, 60), label: shown(planned.label, 60) });
  const about = t('{count} values from {low} to {high}. {name} has the largest value. The table lists all values.', {
    count: number(points.length),
    low: number(Math.min(...values)),
    high: number(Math.max(...values)),
    name: shown(largest[0], 60),
  });
  const every = Math.max(1, Math.ceil(points.length / (kind === 'bars' ? 20 : 8)));
  return h(
    'figure',
    null,
    svg(
      'svg',
      { class: 'chart', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': `${title}. ${about}` },
      marks.map((mark) => [
        svg('line', { class: 'axis', x1: LEFT, x2: WIDTH - RIGHT, y1: y(mark), y2: y(mark) }),
        svg('text', { x: LEFT - 6, y: y(mark) + 4, 'text-anchor': 'end' }, number(mark)),
      ]),
      kind === 'bars'
        ? points.map(([, value], index) =>
            svg('rect', { class: 'mark', x: x(index) + step * 0.12, width: step * 0.76, y: Math.min(y(0), y(value)), height: Math.max(1, Math.abs(y(0) - y(value))) }),
          )
        : svg('polyline', { class: 'line', points: points.map(([, value], index) => `${x(index)},${y(value)}`).join(' ') }),
      points.map(([label], index) => {
        if (index % every) return null;
        const at = x(index) + (kind === 'bars' ? step / 2 : 0);
        return svg('text', { x: at, y: HEIGHT - BOTTOM + 14, 'text-anchor': 'end', transform: `rotate(-35 ${at} ${HEIGHT - BOTTOM + 14})` }, shown(label, 12));
      }),
    ),
    h('figcaption', { class: 'quiet' }, h('bdi', null, title)),
  );
}

/** Returns about four round numbers that cover the range. */
function ticks(low, high) {
  const raw = (high - low || 1) / 4;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= raw);
  const all = [];
  for (let at = Math.floor(low / step); at * step < high + step; at += 1) all.push(Number((at * step).toPrecision(12)));
  return all;
}
