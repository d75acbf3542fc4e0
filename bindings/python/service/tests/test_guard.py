"""The SQL guard gives the same verdicts as in Rust, for every vector."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from quillet_engine import OptionError, QueryError, check_query

VECTORS = Path(__file__).parents[4] / "conformance" / "sql"
FILES = {"guard": 700, "sql-safety": 218, "sql-limit": 67}
# The verdicts of `crates/sql/examples/verdicts.rs`.
TABLES = {
    "users": ["id", "name", "email", "age", "created_at"],
    "orders": ["id", "user_id", "total", "status", "created_at"],
}
HOMES = {"postgresql": "public", "mysql": "db", "sqlite": "main"}


@pytest.fixture(scope="session")
def verdicts() -> dict[tuple[str, int, bool], dict[str, Any]]:
    """Verdicts of the Rust library by file, number, and whether the tables are known."""
    place = os.environ.get("QUILLET_VERDICTS")
    assert place, "QUILLET_VERDICTS must name the output of the example `verdicts` of quillet-sql"
    found = {}
    for line in Path(place).read_text().split("\n")[:-1]:
        one = json.loads(line)
        found[one.pop("file"), one.pop("number"), one.pop("known")] = one
    return found


def verdict(case: dict[str, Any], known: bool) -> dict[str, Any]:
    tables = TABLES if known else None
    options = {"mode": case.get("mode", "select"), "rows": case.get("cap", 1000)}
    try:
        checked = check_query(case["sql"], case["dialect"], tables, **options)
    except QueryError as error:
        fields = ("code", "message", "line", "column", "hint")
        return {field: getattr(error, field) for field in fields}
    return checked._asdict()


@pytest.mark.parametrize("known", [False, True], ids=["any", "known"])
@pytest.mark.parametrize("name", FILES)
def test_same_as_rust(name: str, known: bool, verdicts) -> None:
    cases = json.loads((VECTORS / f"{name}.json").read_text())["cases"]
    assert len(cases) >= FILES[name]
    different = {}
    for number, case in enumerate(cases):
        got, wanted = verdict(case, known), dict(verdicts[name, number, known])
        if known and "tables" in wanted:
            # Tables have the names that were passed, without a schema.
            home = f"{HOMES[case['dialect']]}."
            wanted["tables"] = [table.removeprefix(home) for table in wanted["tables"]]
        if got != wanted:
            different[number] = (got, wanted)
    assert not different, list(different.items())[:3]


def test_read_queries_are_accepted() -> None:
    sql = "SELECT u.name -- all\nFROM users u JOIN orders o ON o.user_id = u.id"
    checked = check_query(sql, "postgres", TABLES, rows=10)
    assert checked.tables == ["users", "orders"] and checked.limited
    assert checked.shown == f"{sql} LIMIT 10"
    # The query to run has no comments and requests one row more.
    assert "all" not in checked.sql and checked.sql.endswith("LIMIT 11")
    mine = check_query("SELECT 1 FROM users LIMIT 5", "sqlite", TABLES)
    assert not mine.limited and mine.sql.endswith("LIMIT 5")
    assert check_query("SELECT 1 FROM users", rows=None).sql == "SELECT 1 FROM users"
    qualified = check_query("SELECT 1 FROM app.t", tables={"app.t": ["a"]})
    assert qualified.tables == ["app.t"]


REFUSED = [
    ("DELETE FROM users", "sql.guard.statement", (1, 1), None),
    ("SELECT 1;\nSELECT 2", "sql.guard.statements", (1, 9), "one statement"),
    ("SELECT pg_read_file('/etc/passwd')", "sql.guard.function", (1, 8), None),
    ("SELECT *\nFROM usrs", "sql.guard.table", (2, 6), "users"),
    ("SELECT nmae FROM users", "sql.guard.column", (1, 8), "name"),
    ("SELEC 1 FROM users", "sql.guard.syntax", (1, 1), "SELECT"),
]


@pytest.mark.parametrize(("sql", "code", "place", "hint"), REFUSED)
def test_other_queries_are_rejected(sql: str, code: str, place, hint: str | None) -> None:
    with pytest.raises(QueryError) as raised:
        check_query(sql, "postgresql", TABLES)
    error = raised.value
    assert error.code == code
    assert place is None or (error.line, error.column) == place
    assert hint is None or hint in error.hint


def test_options() -> None:
    with pytest.raises(QueryError, match="my_function"):
        check_query("SELECT my_function(1)")
    assert check_query("SELECT my_function(1)", functions=["My_Function"])
    with pytest.raises(QueryError):
        check_query("SHOW TABLES", "mysql")
    assert check_query("SHOW TABLES", "mysql", mode="explore")
    for wrong in ({"dialect": "oracle"}, {"mode": "write"}):
        with pytest.raises(OptionError, match=r"oracle|write") as raised:
            check_query("SELECT 1", **wrong)
        assert raised.value.hint
    for odd in (1, None, b"SELECT 1"):
        with pytest.raises(TypeError):
            check_query(odd)  # type: ignore[arg-type]
    with pytest.raises(QueryError, match="U[+]0000"):
        check_query("SELECT '\x00'")
    for rows in (-1, 2**70, "10"):
        with pytest.raises((TypeError, OverflowError)):
            check_query("SELECT 1", rows=rows)  # type: ignore[arg-type]
    assert check_query("SELECT 'é😀'").tables == []
