'use strict';
// Loads the addon for this platform, and converts the values passed to it.

const fs = require('node:fs');
const path = require('node:path');
const { QuilletError, createEncoder, platform } = require('quillet/internal');

function load() {
  const folder = path.join(__dirname, '..', 'native');
  const there = fs.existsSync(folder)
    ? fs.readdirSync(folder).filter((name) => name.endsWith('.node'))
    : [];
  // Node needs some milliseconds to detect the C library. A package with one addon skips this
  // check.
  const wanted = there.length === 1 ? there[0] : `quillet-service.${platform()}.node`;
  if (!there.includes(wanted)) {
    const instead =
      there.length > 0 ? `available: ${there.join(', ')}` : 'build it with scripts/npm-package';
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

/** Returns the engine's result, or throws its error. */
function unwrap(answer) {
  if (answer !== null && typeof answer === 'object')
    throw new QuilletError(JSON.parse(answer.error));
  return answer;
}

/** Encodes a value and passes it to the engine. */
function write(root, value, use) {
  return unwrap(encoder.encode(root, value, null, use));
}

/** JSON in which an unpaired surrogate becomes U+FFFD, as in every text passed from JavaScript. */
function toJson(value) {
  return JSON.stringify(value, (_, field) =>
    typeof field === 'string' ? field.replace(/\p{Surrogate}/gu, '\ufffd') : field,
  );
}

module.exports = { native, unwrap, write, toJson };
