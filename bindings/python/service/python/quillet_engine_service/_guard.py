"""The SQL guard."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from . import _service


class Checked(NamedTuple):
    """A query that the guard accepted."""

    sql: str
    """The text to run: what was given, byte for byte, without comments and with the bound on its
    rows. It asks for one row more than the bound, by which you can tell that some were cut off."""
    tables: list[str]
    """The tables that it reads, as they were given, in order of appearance."""
    limited: bool
    """Whether the row limit was added or replaced the query's own LIMIT."""
    shown: str
    """The same as its author would see it: with comments, and with the bound itself."""


def check_query(
    sql: str,
    dialect: str = "postgresql",
    tables: Mapping[str, Iterable[str]] | None = None,
    *,
    rows: int | None = 1000,
    functions: Iterable[str] = (),
    mode: str = "select",
) -> Checked:
    """Checks that a query only reads, and returns it with a row limit.

    >>> check_query("DELETE FROM users")
    Traceback (most recent call last):
        ...
    quillet_engine._errors.QueryError: DELETE does not read (allowed: SELECT, WITH, VALUES and TABLE)

    Args:
        sql: one statement.
        dialect: ``postgresql``, ``mysql`` (MariaDB too) or ``sqlite``.
        tables: tables that the query may read (``table`` or ``schema.table``), with their columns.
            Without it, tables and columns are not checked; access to system objects is still
            rejected.
        rows: maximum number of rows, set as LIMIT unless the query has a smaller one; None for no
            limit.
        functions: functions that the query may call, in addition to those known only to compute.
        mode: ``select``, or ``explore``, which also allows SHOW, DESCRIBE and EXPLAIN.

    Raises:
        QueryError: with ``code``, ``line``, ``column`` and ``hint``.
    """
    known = None
    if tables is not None:
        known = [(name, list(columns)) for name, columns in tables.items()]
    checked = _service.check_query(sql, dialect, known, rows, list(functions), mode)
    return Checked(*checked)
