// The package beside handlebars.js on the four prompts of `benches/formats/prompts.py`:
//
//     node figures.mjs prompts.json
//
// Each engine gets a second of warm-up, then they take turns, and the best batch of each counts. *Same*
// renders the same variables again and again, as `benches/formats` does; *fresh* makes new objects of new
// texts before each render, and takes off what making them costs; in *growing* the last of the variables is
// new each time.

import { readFileSync } from 'node:fs';
import Handlebars from 'handlebars';
import { Template } from 'quillet';

const prompts = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const WARM_UP = 1;
const BATCHES = 15;
const BATCH = 0.03;

function seconds() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** CPU nanoseconds of each piece of work. */
function nanoseconds(works) {
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
  return best.map((time) => Math.round(time * 1e9));
}

/** The variables anew, of texts that no engine has seen. */
function copies(data) {
  const json = JSON.stringify(data);
  return () => JSON.parse(json);
}

for (const { name, data, expected, templates } of prompts) {
  const text = templates.handlebars;
  const options = { noEscape: true };
  const theirs = Handlebars.compile(text, options);
  const ours = new Template(text, { format: 'handlebars' });
  for (const found of [theirs(data), ours.render(data)]) {
    if (found !== expected) throw new Error(`${name}: ${found.slice(0, 200)}`);
  }
  const [theirCompile, ourCompile] = nanoseconds([
    () => Handlebars.precompile(text, options),
    () => new Template(text, { format: 'handlebars' }),
  ]);
  const [theirSame, ourSame] = nanoseconds([() => theirs(data), () => ours.render(data)]);
  const copy = copies(data);
  const [made, theirFresh, ourFresh] = nanoseconds([copy, () => theirs(copy()), () => ours.render(copy())]);
  const row = { theirCompile, ourCompile, theirSame, ourSame, theirFresh: theirFresh - made, ourFresh: ourFresh - made };
  console.log(JSON.stringify({ name, ...row }));
}
