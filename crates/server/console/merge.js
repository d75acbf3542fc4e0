// Line differences and three-way merges.

/** Maximum number of differing lines to compare. Beyond it, the rest counts as changed, to limit the time. */
const MOST = 700;

function lines(text) {
  return text.split('\n');
}

/**
 * Returns the changes from `a` to `b` as `{ from, to, lines }`: replace the lines `from` to `to`
 * (exclusive) of `a`. After Myers, "An O(ND) Difference Algorithm and Its Variations" (1986).
 */
export function changes(a, b) {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let tail = 0;
  while (tail < a.length - start && tail < b.length - start && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  const [n, m] = [a.length - start - tail, b.length - start - tail];
  if (n === 0 && m === 0) return [];
  const whole = [{ from: start, to: start + n, lines: b.slice(start, start + m) }];
  if (n === 0 || m === 0) return whole;
  const most = Math.min(n + m, MOST);
  const steps = [];
  const ends = new Map([[1, 0]]);
  for (let d = 0; d <= most; d += 1) {
    steps.push(new Map(ends));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && ends.get(k - 1) < ends.get(k + 1));
      let x = down ? ends.get(k + 1) : ends.get(k - 1) + 1;
      let y = x - k;
      while (x < n && y < m && a[start + x] === b[start + y]) [x, y] = [x + 1, y + 1];
      ends.set(k, x);
      if (x >= n && y >= m) return hunks(walked(steps, n, m), b, start);
    }
  }
  return whole;
}

/** Walks back from the end. Returns single removals and insertions, first to last. */
function walked(steps, n, m) {
  const edits = [];
  let [x, y] = [n, m];
  for (let d = steps.length - 1; d > 0; d -= 1) {
    const ends = steps[d];
    const k = x - y;
    const down = k === -d || (k !== d && ends.get(k - 1) < ends.get(k + 1));
    const before = down ? k + 1 : k - 1;
    const [px, py] = [ends.get(before), ends.get(before) - before];
    edits.push(down ? { at: px, plus: py } : { at: px, minus: true });
    [x, y] = [px, py];
  }
  return edits.reverse();
}

function hunks(edits, b, start) {
  const found = [];
  for (const edit of edits) {
    const at = start + edit.at;
    let last = found.at(-1);
    if (!last || last.to !== at) {
      last = { from: at, to: at, lines: [] };
      found.push(last);
    }
    if (edit.minus) last.to += 1;
    else last.lines.push(b[start + edit.plus]);
  }
  return found;
}

/** Compares two texts by line. Returns `[sign, line]`, where the sign is `' '`, `'-'` or `'+'`. */
export function difference(before, after) {
  const a = lines(before);
  const found = [];
  let at = 0;
  for (const { from, to, lines: plus } of changes(a, lines(after))) {
    while (at < from) found.push([' ', a[at++]]);
    while (at < to) found.push(['-', a[at++]]);
    for (const line of plus) found.push(['+', line]);
  }
  while (at < a.length) found.push([' ', a[at++]]);
  return found;
}

/** Conflict markers, at the start of a line. */
const MARKS = ['<<<<<<< ', '=======', '>>>>>>> '];

/**
 * Merges two changes of `base` into one text. Puts overlapping changes between conflict markers with
 * their names. Returns `{ text, conflicts }`, where `conflicts` is a count.
 */
export function merge(base, mine, theirs, names = ['mine', 'theirs']) {
  const a = lines(base);
  const sides = [changes(a, lines(mine)), changes(a, lines(theirs))];
  const merged = [];
  let conflicts = 0;
  let at = 0;
  while (sides[0].length || sides[1].length) {
    const region = next(sides);
    while (at < region.from) merged.push(a[at++]);
    const [one, other] = region.taken.map((taken) => applied(a, region, taken));
    at = region.to;
    if (region.taken[1].length === 0 || one.join('\n') === other.join('\n')) merged.push(...one);
    else if (region.taken[0].length === 0) merged.push(...other);
    else {
      conflicts += 1;
      merged.push(MARKS[0] + names[0], ...one, MARKS[1], ...other, MARKS[2] + names[1]);
    }
  }
  merged.push(...a.slice(at));
  return { text: merged.join('\n'), conflicts };
}

/** Takes the next region from both sides, with all changes that overlap it. */
function next(sides) {
  const first = sides[1].length === 0 || (sides[0].length && sides[0][0].from <= sides[1][0].from) ? 0 : 1;
  const begin = sides[first][0];
  const region = { from: begin.from, to: begin.to, taken: [[], []] };
  for (let grown = true; grown; ) {
    grown = false;
    for (const [index, side] of sides.entries()) {
      while (side.length && side[0].from <= region.to) {
        region.to = Math.max(region.to, side[0].to);
        region.taken[index].push(side.shift());
        grown = true;
      }
    }
  }
  return region;
}

function applied(a, { from, to }, taken) {
  const found = [];
  let at = from;
  for (const change of taken) {
    found.push(...a.slice(at, change.from), ...change.lines);
    at = change.to;
  }
  return found.concat(a.slice(at, to));
}

/** Returns the conflicts in a text as `{ start, end, mine, theirs }`, with offsets in UTF-16 units. */
export function conflicts(text) {
  const found = [];
  const mark = /^<<<<<<< [^\r\n]*(?:\r\n?|\n)([^]*?)^=======(?:\r\n?|\n)([^]*?)^>>>>>>> [^\r\n]*(?:\r\n?|\n|$)/gm;
  for (const one of text.matchAll(mark)) {
    found.push({ start: one.index, end: one.index + one[0].length, mine: one[1], theirs: one[2] });
  }
  return found;
}
