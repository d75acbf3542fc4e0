"""The package produces the same bytes as the Rust library for every vector of every format."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from conformance import answer, vectors

# Files with their minimum number of vectors.
FILES = {
    "dotprompt": 41,
    "f-string": 113,
    "go-sprig-library": 1148,
    "go-template": 2858,
    "go-template-sprig": 573,
    "handlebars": 177,
    "jinja2": 292,
    "jinja2-differential": 155,
    "liquid": 308,
    "mustache": 75,
    "semantic-kernel": 133,
    "sk-chat-prompt": 30,
    "sk-handlebars": 34,
    "sk-jinja2": 19,
}

# Files whose vectors need no host features, so the package must match the reference, with the
# matching percentage. `conformance/known` lists the differences.
REFERENCES = {
    "f-string": 99.0,
    "go-sprig-library": 99.0,
    "go-template-sprig": 99.0,
    "jinja2": 99.0,
    "jinja2-differential": 91.0,
    "liquid": 96.0,
    "mustache": 99.0,
}


@pytest.fixture(scope="session")
def answers() -> dict[str, dict[str, Any]]:
    """Results of the Rust library by file and id."""
    place = os.environ.get("QUILLET_ANSWERS")
    assert place, "QUILLET_ANSWERS must name the output of `cargo run -p quillet --example answers`"
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    for line in Path(place).read_text().split("\n")[:-1]:
        one = json.loads(line)
        found[one.pop("file")][one.pop("id")] = one
    return found


@pytest.mark.parametrize("name", FILES)
def test_same_as_rust(name: str, answers: dict[str, dict[str, Any]]) -> None:
    expected = answers[name]
    assert len(expected) >= FILES[name]
    different = {}
    for id, vector in vectors(name):
        got, wanted = told(answer(name, vector)), told(expected[id])
        if got != wanted:
            different[id] = (got, wanted)
    assert not different, list(different.items())[:3]


def told(answer: dict[str, Any]) -> dict[str, Any]:
    """Normalizes a result, because both sides word some errors differently."""
    if "error" in answer:
        error = dict(answer["error"])
        # In Rust, the text of a diagnostic ends with its hint.
        if error["hint"]:
            error["message"] = error["message"].removesuffix(f" ({error['hint']})")
        # The package's hint describes how to pass a Python function.
        if error["code"] == "render.unknown_function":
            error["hint"] = None
        return {"error": error}
    return {**answer, "failed": len(answer["failed"])}


@pytest.mark.parametrize("name", REFERENCES)
def test_same_as_the_reference(name: str) -> None:
    right = total = 0
    for _, vector in vectors(name):
        got = answer(name, vector)
        expected = vector.get("expected", (vector.get("expect") or {}).get("output"))
        right += "error" in got if expected is None else got.get("text") == expected
        total += 1
    assert 100 * right / total >= REFERENCES[name], f"{right} of {total}"
