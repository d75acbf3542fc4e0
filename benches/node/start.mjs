// How long the package takes to load, in processes of its own: the best of many, and the middle one,
// by the clock and by CPU time.

import { execFileSync } from 'node:child_process';

const ROUNDS = 25;

const program = (load) => `
  const [begin, used] = [process.hrtime.bigint(), process.cpuUsage()];
  ${load};
  const { user, system } = process.cpuUsage(used);
  console.log(JSON.stringify([Number(process.hrtime.bigint() - begin) / 1e6, (user + system) / 1e3]));`;

const KINDS = [
  ['commonjs', "require('quillet')"],
  ['module', "await import('quillet')"],
];

for (const [type, load] of KINDS) {
  const rounds = Array.from({ length: ROUNDS }, () => {
    const args = [`--input-type=${type}`, '-e', program(load)];
    return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));
  });
  const figures = ['clock', 'CPU'].map((what, index) => {
    const times = rounds.map((round) => round[index]).sort((a, b) => a - b);
    return `${what} ${times[0].toFixed(1)} ms at best, ${times[ROUNDS >> 1].toFixed(1)} ms in the middle`;
  });
  console.log(`${load}: ${figures.join('; ')}`);
}
