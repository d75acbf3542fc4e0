// How long the package takes to load, in processes of its own: the best of many, and the middle
// one.

import { execFileSync } from 'node:child_process';

const ROUNDS = 25;
const program = (load) =>
  `const begin = process.hrtime.bigint(); ${load}; console.log(Number(process.hrtime.bigint() - begin) / 1e6)`;

for (const [name, load] of [
  ["require('quillet')", "require('quillet')"],
  ["import('quillet')", "await import('quillet')"],
]) {
  const type = load.startsWith('await') ? 'module' : 'commonjs';
  const times = Array.from({ length: ROUNDS }, () => {
    const args = [`--input-type=${type}`, '-e', program(load)];
    return Number(execFileSync(process.execPath, args, { encoding: 'utf8' }));
  }).sort((a, b) => a - b);
  console.log(
    `${name}: ${times[0].toFixed(2)} ms at best, ${times[ROUNDS >> 1].toFixed(2)} ms in the middle`,
  );
}
