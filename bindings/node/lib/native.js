'use strict';
// Finds the addon that was built for this machine.

const fs = require('node:fs');
const path = require('node:path');
const { platform } = require('./platform');

function load() {
  const folder = path.join(__dirname, '..', 'native');
  const there = fs.existsSync(folder)
    ? fs.readdirSync(folder).filter((name) => name.endsWith('.node'))
    : [];
  // Which C library there is takes Node some milliseconds to say; a package with one addon needs no
  // answer.
  const wanted = there.length === 1 ? there[0] : `quillet.${platform()}.node`;
  if (!there.includes(wanted)) {
    const instead =
      there.length > 0 ? `there are ${there.join(', ')}` : 'build it with scripts/npm-package';
    throw new Error(`quillet has no addon for ${platform()}: ${instead}`);
  }
  try {
    return require(path.join(folder, wanted));
  } catch (error) {
    throw new Error(`quillet: ${wanted} cannot be loaded on ${platform()}: ${error.message}`, {
      cause: error,
    });
  }
}

module.exports = load();
