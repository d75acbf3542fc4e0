"""The exceptions of the package. Each has a stable code, a location and a hint."""

from __future__ import annotations

from typing import Any


class QuilletError(Exception):
    """The base of all exceptions of this package.

    Attributes:
        code: a stable short name, such as ``template.syntax`` or ``render.missing_variable``.
        message: the problem, with its location if known.
        line: the line, from 1, or None.
        column: the character in the line, from 1, or None.
        hint: a suggested fix, or None.
        source: the name of the template or partial with the problem, or None.
        diagnostics: all diagnostics of the sources, as dicts with ``code``, ``severity``,
            ``message``, ``source``, ``line``, ``column``, ``hint``.
    """

    code: str
    message: str
    line: int | None
    column: int | None
    hint: str | None
    source: str | None
    diagnostics: list[dict[str, Any]]

    def __init__(
        self,
        message: str,
        *,
        code: str = "error",
        line: int | None = None,
        column: int | None = None,
        hint: str | None = None,
        source: str | None = None,
        diagnostics: list[dict[str, Any]] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.line = line
        self.column = column
        self.hint = hint
        self.source = source
        self.diagnostics = diagnostics or []

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.message, dict(self.__dict__))


def _again(kind: type[QuilletError], message: str, fields: dict[str, Any]) -> QuilletError:
    """Recreates an error from another process."""
    error = kind(message)
    error.__dict__.update(fields)
    return error


class TemplateError(QuilletError):
    """A template cannot be used."""


class TemplateSyntaxError(TemplateError):
    """A template does not compile."""


class TemplateNotFound(TemplateError, LookupError):
    """The template does not exist."""


class RenderError(TemplateError):
    """A template cannot be rendered with these variables."""


class UndefinedError(RenderError):
    """A variable is missing."""


class LimitError(RenderError):
    """A limit on sources or renders was reached; the message names it."""


class VariableError(QuilletError, TypeError):
    """Templates do not support a value; the message has its path."""


class OptionError(QuilletError, ValueError):
    """An option is unknown or has an invalid value."""


class ConvertError(QuilletError):
    """A template has no exact counterpart in the other format; ``diagnostics`` has every reason."""


class FileError(QuilletError):
    """A prompt file cannot be read."""


class StoreError(QuilletError):
    """A store is unavailable or rejects a write."""


class ScriptError(QuilletError):
    """A script is invalid or fails. An exception of a function is its ``__cause__``."""


class QueryError(QuilletError):
    """A query does more than read, or reads something that is not allowed."""


class ToolWarning(UserWarning):
    """A function call failed and was rendered as empty text."""
