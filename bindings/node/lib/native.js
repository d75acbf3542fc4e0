'use strict';
// Loads the addon for this platform.

const fs = require('node:fs');
const path = require('node:path');
const { platform } = require('./platform');

function load() {
  const folder = path.join(__dirname, '..', 'native');
  const there = fs.existsSync(folder)
    ? fs.readdirSync(folder).filter((name) => name.endsWith('.node'))
    : [];
  // Node needs some milliseconds to detect the C library. A package with one addon skips this
  // check.
  const wanted = there.length === 1 ? there[0] : `quillet.${platform()}.node`;
  if (!there.includes(wanted)) {
    const instead =
      there.length > 0 ? `available: ${there.join(', ')}` : 'build it with scripts/npm-package';
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
