'use strict';
// Internal exports for the package with stores; not part of the public interface.

const { QuilletError, refused } = require('./errors');
const { createEncoder } = require('./encode');
const { platform } = require('./platform');

module.exports = { QuilletError, refused, createEncoder, platform };
