'use strict';
// Stores, scripts and the guard of SQL: a package of their own, which is here under this name, too.

function load() {
  try {
    return require('quillet-service');
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND' || !error.message.includes("'quillet-service'"))
      throw error;
    throw new Error(
      'quillet/service comes with the package quillet-service: npm install quillet-service',
      { cause: error },
    );
  }
}

module.exports = load();
