'use strict';

const { QuilletError } = require('quillet/internal');
const { Catalogue } = require('./catalogue');
const { checkQuery } = require('./guard');
const { run } = require('./script');

module.exports = { Catalogue, QuilletError, checkQuery, run };
