'use strict';

const { refused } = require('quillet/internal');
const { isText, known } = require('./drive');
const { native, toJson, unwrap } = require('./native');

const OPTIONS = ['rows', 'functions', 'mode'];

/** Checks that a query only reads, and returns it with a row limit. */
function checkQuery(sql, dialect = 'postgresql', tables = undefined, options = {}) {
  isText('the query', sql);
  isText('the dialect', dialect);
  known('options', options, OPTIONS);
  const { rows = 1000, functions = [], mode = 'select' } = options;
  if (rows !== null && rows !== Infinity && (!Number.isSafeInteger(rows) || rows < 0))
    throw refused('option.kind', 'rows must be an integer of at least 0', 'pass null for no limit');
  if (!isNames(functions))
    throw refused('option.kind', 'functions must be a list of names', "give ['f']");
  isText('mode', mode);
  const query = { sql, dialect, rows, functions, mode, tables: readTables(tables) };
  return JSON.parse(unwrap(native.checkQuery(toJson(query))));
}

function readTables(tables) {
  if (tables === undefined || tables === null) return null;
  const wrong = () =>
    refused(
      'option.kind',
      'tables must be an object of lists of columns',
      "give { users: ['id', 'name'] }",
    );
  if (typeof tables !== 'object' || Array.isArray(tables)) throw wrong();
  for (const columns of Object.values(tables)) if (!isNames(columns)) throw wrong();
  return tables;
}

function isNames(list) {
  return Array.isArray(list) && list.every((name) => typeof name === 'string');
}

module.exports = { checkQuery };
