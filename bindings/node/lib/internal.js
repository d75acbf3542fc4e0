'use strict';
// What the package with stores shares with this one; nobody else.

const { QuilletError, refused } = require('./errors');
const { createEncoder } = require('./encode');
const { platform } = require('./platform');

module.exports = { QuilletError, refused, createEncoder, platform };
