// JavaScript's engines on the prompts of `prompts.py`; lines as those of `peers.py`.
//
//     node peers.js prompts.json

const fs = require('fs');

const prompts = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
const WARM_UP = 1.0;
const BATCHES = 7;
const BATCH = 0.03;

function seconds() {
  const used = process.cpuUsage();
  return (used.user + used.system) / 1e6;
}

// CPU nanoseconds of a piece of work in its best batch, after the compiler has had its time.
function nanoseconds(work) {
  const start = seconds();
  let warm = 0;
  while (seconds() - start < WARM_UP) {
    for (let turn = 0; turn < 10; turn++) work();
    warm += 10;
  }
  const count = Math.max(10, Math.ceil(warm * BATCH / WARM_UP));
  let best = Infinity;
  for (let batch = 0; batch < BATCHES; batch++) {
    const begin = seconds();
    for (let turn = 0; turn < count; turn++) work();
    best = Math.min(best, seconds() - begin);
  }
  return Math.round(best / count * 1e9);
}

function run(format, engine, prepare, compile, render) {
  for (const { name, data, expected, templates } of prompts) {
    const text = templates[format];
    if (text === undefined) continue;
    const template = prepare(text);
    const found = render(template, data);
    if (found !== expected) throw new Error(`${engine} on ${name}: ${found.slice(0, 200)}`);
    const figures = [nanoseconds(() => compile(text)), nanoseconds(() => render(template, data))];
    console.log([format, engine, name, ...figures].join('\t'));
  }
}

function installed(name, use) {
  let module;
  try {
    module = require(name);
  } catch {
    console.log(['missing', name, `npm install ${name}, and its node_modules in NODE_PATH`].join('\t'));
    return;
  }
  use(module);
}

installed('handlebars', (handlebars) => {
  const options = { noEscape: true };
  run('handlebars', `handlebars.js ${handlebars.VERSION}`,
    (text) => handlebars.compile(text, options),
    // `compile` does its work at the first render; this is that work.
    (text) => handlebars.precompile(text, options),
    (template, data) => template(data));
});

installed('liquidjs', (liquidjs) => {
  const engine = new liquidjs.Liquid();
  run('liquid', `liquidjs ${liquidjs.version}`,
    (text) => engine.parse(text),
    (text) => engine.parse(text),
    (template, data) => engine.renderSync(template, data));
});

installed('mustache', (mustache) => {
  run('mustache', `mustache.js ${mustache.version}`,
    (text) => text,
    (text) => { mustache.clearCache(); mustache.parse(text); },
    (template, data) => mustache.render(template, data));
});
