// Node's `fs/promises`.
'use strict';

module.exports = require('fs').promises;

// Never executed: the loader reads the export names for `import` from this text.
0 && (module.exports = {
  readFile, writeFile, appendFile, readdir, stat, mkdir, unlink, rmdir, rename, copyFile, realpath, access, rm, lstat,
  constants,
});
