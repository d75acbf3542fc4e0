'use strict';

const { createApi } = require('./template');

module.exports = createApi(require('./native'));
