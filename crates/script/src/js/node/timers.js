// Node's `timers`: the global timer functions as a module.
'use strict';

module.exports = { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate };
module.exports.promises = {
  setTimeout: (delay, value) => new Promise((resolve) => { setTimeout(resolve, delay, value); }),
  setImmediate: (value) => new Promise((resolve) => { setImmediate(resolve, value); }),
};
