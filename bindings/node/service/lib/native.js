'use strict';
// Finds the addon that was built for this machine, and what crosses into it.

const fs = require('node:fs');
const path = require('node:path');
const { QuilletError, createEncoder, platform } = require('quillet/internal');

function load() {
  const folder = path.join(__dirname, '..', 'native');
  const there = fs.existsSync(folder)
    ? fs.readdirSync(folder).filter((name) => name.endsWith('.node'))
    : [];
  // Which C library there is takes Node some milliseconds to say; a package with one addon needs no
  // answer.
  const wanted = there.length === 1 ? there[0] : `quillet-service.${platform()}.node`;
  if (!there.includes(wanted)) {
    const instead =
      there.length > 0 ? `there are ${there.join(', ')}` : 'build it with scripts/npm-package';
    throw new Error(`quillet-service has no addon for ${platform()}: ${instead}`);
  }
  try {
    return require(path.join(folder, wanted));
  } catch (error) {
    throw new Error(
      `quillet-service: ${wanted} cannot be loaded on ${platform()}: ${error.message}`,
      {
        cause: error,
      },
    );
  }
}

const native = load();
const encoder = createEncoder(native);

/** Returns the engine's answer; throws if it is an error. */
function unwrap(answer) {
  if (answer !== null && typeof answer === 'object')
    throw new QuilletError(JSON.parse(answer.error));
  return answer;
}

/** Writes a value down, and has the engine read it. */
function write(root, value, use) {
  return unwrap(encoder.encode(root, value, null, use));
}

/** JSON in which half a surrogate pair is U+FFFD, as in every text that leaves JavaScript. */
function toJson(value) {
  return JSON.stringify(value, (_, field) =>
    typeof field === 'string' ? field.replace(/\p{Surrogate}/gu, '\ufffd') : field,
  );
}

module.exports = { native, unwrap, write, toJson };
