"""Hostile templates (`conformance/hostile`), rendered with the package."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance import CONFORMANCE
from quillet_engine import QuilletError, Template

FILES = [
    "templates_go",
    "templates_jinja",
    "templates_fstring",
    "templates_sk",
    "templates_handlebars",
    "templates_liquid",
    "injection",
]

FORMATS = {
    "go": "go",
    "hf": "jinja",
    "fstring": "f-string-strict",
    "semantic-kernel": "semantic-kernel",
    "handlebars": "handlebars",
    "liquid": "liquid",
}


def lines(file: str) -> list[dict[str, Any]]:
    text = (CONFORMANCE / "hostile" / f"{file}.jsonl").read_text()
    return [line for line in map(json.loads, text.splitlines()) if line["format"] in FORMATS]


def text_of(given: Any) -> str:
    """Builds text, or segments to repeat."""
    if isinstance(given, str):
        return given
    return "".join(text * count for text, count in given["segments"])


def data_of(given: Any) -> Any:
    """Builds data; `{"repeat": [value, n]}` becomes a list."""
    if isinstance(given, dict):
        if set(given) == {"repeat"}:
            value, count = given["repeat"]
            return [data_of(value)] * count
        return {key: data_of(value) for key, value in given.items()}
    return [data_of(item) for item in given] if isinstance(given, list) else given


@pytest.mark.parametrize("file", FILES)
def test_limits_hold(file: str) -> None:
    wrong = []
    found = lines(file)
    assert found
    for line in found:
        try:
            template = Template(text_of(line["template"]), FORMATS[line["format"]])
            said, refused = template.render(data_of(line.get("data") or {})), False
        except QuilletError as error:
            said, refused = error.message, True
        expect = line.get("expect")
        complaint = (
            (expect == "refuse" and not refused)
            or (expect == "ok" and (refused or said != line.get("result", said)))
            or any(part in said for part in line.get("must_not_contain") or [])
            or len(said.encode()) > (line.get("limits") or {}).get("out_bytes", 1 << 30)
        )
        if complaint:
            wrong.append((line["id"], said[:200]))
        assert Template("{{ 1 + 1 }}").render() == "2", line["id"]
    assert not wrong
