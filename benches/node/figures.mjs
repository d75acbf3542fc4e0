// The package beside handlebars.js on the four prompts of `benches/formats/prompts.py`:
//
//     node figures.mjs prompts.json
//
// Each engine gets a second of warm-up, then they take turns, and the best batch of each counts. A
// render of *equal* variables is what `benches/formats` measures; for *new* ones every text is
// another one each time, and what making them costs is taken off. handlebars.js leaves a text in
// pieces, which V8 joins when somebody reads it: *read* is the render and a look at the last
// character.

import { readFileSync } from 'node:fs';
import Handlebars from 'handlebars';
import { Template } from 'quillet';

const prompts = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const WARM_UP = 1;
const BATCHES = 15;
const BATCH = 0.03;

let looked = 0;

function seconds() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** CPU microseconds of each piece of work. */
function microseconds(works) {
  const counts = works.map((work) => {
    const start = seconds();
    let count = 0;
    while (seconds() - start < WARM_UP) {
      for (let turn = 0; turn < 10; turn++) work();
      count += 10;
    }
    return Math.max(10, Math.ceil((count * BATCH) / WARM_UP));
  });
  const best = works.map(() => Infinity);
  for (let batch = 0; batch < BATCHES; batch++) {
    works.forEach((work, index) => {
      const begin = seconds();
      for (let turn = 0; turn < counts[index]; turn++) work();
      best[index] = Math.min(best[index], (seconds() - begin) / counts[index]);
    });
  }
  return best.map((time) => time * 1e6);
}

function read(text) {
  looked += text.charCodeAt(text.length - 1);
}

/** Makes the variables anew, each text with another number in front. */
function renewed(data) {
  const json = JSON.stringify(data);
  let number = 1000;
  const change = (value) => {
    for (const key of Object.keys(value)) {
      if (typeof value[key] === 'string') value[key] = `${number}${value[key]}`;
      else if (typeof value[key] === 'object') change(value[key]);
    }
    return value;
  };
  return () => {
    number = number === 9999 ? 1000 : number + 1;
    return change(JSON.parse(json));
  };
}

console.log(
  '| prompt | compile, µs | equal, µs | equal and read, µs | new, µs | new and read, µs |',
);
console.log('|---|---:|---:|---:|---:|---:|');
for (const { name, data, expected, templates } of prompts) {
  const text = templates.handlebars;
  const options = { noEscape: true };
  const theirs = Handlebars.compile(text, options);
  const ours = new Template(text, { format: 'handlebars' });
  for (const found of [theirs(data), ours.render(data)]) {
    if (found !== expected) throw new Error(`${name}: ${found.slice(0, 200)}`);
  }
  const compile = microseconds([
    () => Handlebars.precompile(text, options),
    () => new Template(text, { format: 'handlebars' }),
  ]);
  const [equal, ourEqual, equalRead, ourEqualRead] = microseconds([
    () => theirs(data),
    () => ours.render(data),
    () => read(theirs(data)),
    () => read(ours.render(data)),
  ]);
  const renew = renewed(data);
  const [made, ...fresh] = microseconds([
    renew,
    () => theirs(renew()),
    () => ours.render(renew()),
    () => read(theirs(renew())),
    () => read(ours.render(renew())),
  ]);
  const [anew, ourAnew, anewRead, ourAnewRead] = fresh.map((time) => time - made);
  const pairs = [
    compile,
    [equal, ourEqual],
    [equalRead, ourEqualRead],
    [anew, ourAnew],
    [anewRead, ourAnewRead],
  ];
  const cells = pairs.map(
    ([a, b]) => `${a.toPrecision(3)} → ${b.toPrecision(3)} (${(a / b).toPrecision(2)}x)`,
  );
  console.log(`| ${name} | ${cells.join(' | ')} |`);
}

// A conversation of 50 messages, of which the last one is new in each render: the other objects are
// those of the render before.
{
  const { data, templates } = prompts.find(({ name }) => name === 'chat50');
  const theirs = Handlebars.compile(templates.handlebars, { noEscape: true });
  const ours = new Template(templates.handlebars, { format: 'handlebars' });
  let number = 0;
  const last = data.messages.at(-1);
  const grow = () => {
    data.messages[49] = { role: last.role, content: `${number++} ${last.content}` };
    return data;
  };
  const [their, our] = microseconds([() => read(theirs(grow())), () => read(ours.render(grow()))]);
  console.log(
    `chat50, one message of 50 new, read: ${their.toPrecision(3)} → ${our.toPrecision(3)} µs`,
  );
}
if (!Number.isFinite(looked)) throw new Error('nothing was read');
