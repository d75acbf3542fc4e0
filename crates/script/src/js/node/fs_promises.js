// Node's `fs/promises`.
'use strict';

module.exports = require('fs').promises;

// The names that `import` finds: they are read here, and this never runs.
0 && (module.exports = {
  readFile, writeFile, appendFile, readdir, stat, mkdir, unlink, rmdir, rename, copyFile, realpath, access, rm, lstat,
  constants,
});
