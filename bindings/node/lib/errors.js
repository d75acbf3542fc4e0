'use strict';

/**
 * Error of Quillet: `code` is stable (`template.syntax`, `render.missing_variable`, `value.kind`,
 * …), `line` and `column` count from 1, `hint` suggests a fix.
 */
class QuilletError extends Error {
  constructor({ code, message, reason, source, line, column, hint, findings }) {
    super(hint && !message.includes(hint) ? `${message} (${hint})` : message);
    this.code = code;
    this.reason = reason ?? message;
    if (source) this.source = source;
    if (line) this.line = line;
    if (column) this.column = column;
    if (hint) this.hint = hint;
    if (findings?.length) this.findings = findings;
  }
}
Object.defineProperty(QuilletError.prototype, 'name', {
  value: 'QuilletError',
  configurable: true,
  writable: true,
});

/** Creates the error for an unsupported argument or value. */
function refused(code, message, hint) {
  return new QuilletError({ code, message, hint });
}

module.exports = { QuilletError, refused };
