// Bundles the package's JavaScript into one file for browsers: node bundle.mjs quillet.mjs

import { readFileSync, writeFileSync } from 'node:fs';

const FILES = {
  './errors': '../node/lib/errors.js',
  './encode': '../node/lib/encode.js',
  './tools': '../node/lib/tools.js',
  './template': '../node/lib/template.js',
  './wasm': './lib/wasm.js',
};

const modules = Object.entries(FILES).map(([name, file]) => {
  const text = readFileSync(new URL(file, import.meta.url), 'utf8');
  return `define('${name}', (require, module) => {\n${text}});\n`;
});

writeFileSync(
  process.argv[2],
  `// Quillet's template engine over a WebAssembly module.
const modules = new Map();
function define(name, make) {
  const module = { exports: {} };
  make((needed) => modules.get(needed), module);
  modules.set(name, module.exports);
}

${modules.join('\n')}
export const { load } = modules.get('./wasm');
`,
);
