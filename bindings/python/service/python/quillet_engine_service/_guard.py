"""The guard of SQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from . import _service


class Checked(NamedTuple):
    """A query that may run."""

    sql: str
    """The text to run: what was given, byte for byte, without comments and with the bound on its
    rows. It asks for one row more than the bound, by which you can tell that some were cut off."""
    tables: list[str]
    """The tables that it reads, as they were given, in order of appearance."""
    limited: bool
    """Whether the bound took the place of its own LIMIT, or of none."""
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
    """The query, if it only reads.

    >>> check_query("DELETE FROM users")
    Traceback (most recent call last):
        ...
    quillet_engine._errors.QueryError: DELETE does not read (allowed: SELECT, WITH, VALUES and TABLE)

    Args:
        sql: one statement.
        dialect: ``postgresql``, ``mysql`` (MariaDB too) or ``sqlite``.
        tables: the tables that it may read, ``table`` or ``schema.table``, with their columns.
            Without them tables and columns are not looked at; what reaches into the system is
            refused all the same.
        rows: most rows, which are set as LIMIT where the query has no smaller one; None for any
            number.
        functions: functions that it may call besides those that are known only to compute.
        mode: ``select``, or ``explore``, which also lets SHOW, DESCRIBE and EXPLAIN pass.

    Raises:
        QueryError: with ``code``, ``line``, ``column`` and ``hint``.
    """
    known = None
    if tables is not None:
        known = [(name, list(columns)) for name, columns in tables.items()]
    checked = _service.check_query(sql, dialect, known, rows, list(functions), mode)
    return Checked(*checked)
