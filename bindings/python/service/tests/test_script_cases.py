"""The cases of scripts in `conformance`, with a Python function as the model."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quillet_engine import QuilletError, run

CASES = Path(__file__).parents[4] / "conformance" / "scripts"
FILES = [
    "inventory-answers",
    "inventory-code",
    "inventory-messages",
    "inventory-model",
    "inventory-scripts",
    "inventory-text",
    "review",
    "seed-samples",
]
# Host features in Rust that the packages lack: parse-only and dry runs, continued conversations,
# prices, models that stream, break off or are missing, and WebAssembly.
NOT_HERE = ("read", "dry", "history", "streamed_only")
NOT_HERE_BY_ID = ("model-missing", "wasm", "wasm-spins", "seed-873")
KNOWN = {
    line.split(" ", 1)[0]
    for line in (CASES.parent / "known" / "scripts.txt").read_text().splitlines()
    if line and not line.startswith("#")
}


def cases() -> Iterator[Any]:
    for name in FILES:
        for case in json.loads((CASES / f"{name}.json").read_text()):
            if is_here(case):
                yield pytest.param(case, id=case["id"])


def is_here(case: dict[str, Any]) -> bool:
    rules = case.get("llm", [])
    odd = any(rule.keys() & {"fails", "cut", "hangs", "finish", "thinking"} for rule in rules)
    limits = case.get("limits", {}).keys() & {"cost", "price"}
    left_out = case["id"] in KNOWN or case["id"] in NOT_HERE_BY_ID
    return not (odd or limits or left_out or case.keys() & set(NOT_HERE))


def text_of(messages: list[dict[str, Any]]) -> str:
    return "\n".join(f"{one['role']}: {content(one)}" for one in messages)


def content(message: dict[str, Any]) -> str:
    found = message.get("content")
    if found is None or isinstance(found, str):
        return found or ""
    return json.dumps(found, separators=(",", ":"), ensure_ascii=False)


class Model:
    """Model that answers by the rules of a case."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.rules = case.get("llm", [])
        self.asked: list[tuple[list[dict[str, Any]], dict[str, Any]]] = []

    def __call__(self, messages: list[dict[str, Any]], **options: Any) -> Any:
        self.asked.append((messages, options))
        conversation = text_of(messages)
        for rule in self.rules:
            if re.search(rule["match"], conversation, re.DOTALL):
                return self.answer(rule)
        return f"ECHO({content(messages[-1]) if messages else ''})"

    @staticmethod
    def answer(rule: dict[str, Any]) -> Any:
        calls = [
            {
                "id": f"call-{index}",
                "type": "function",
                "function": {"name": call["name"], "arguments": json.dumps(call.get("arguments"))},
            }
            for index, call in enumerate(rule.get("tool_calls", []))
        ]
        if not calls:
            return rule.get("reply", "")
        return {"role": "assistant", "content": rule.get("reply", ""), "tool_calls": calls}


def tools_of(case: dict[str, Any]) -> dict[str, Any]:
    def tool(given: dict[str, Any]) -> dict[str, Any]:
        def call(**arguments: Any) -> Any:
            if given.get("fails"):
                raise RuntimeError(given["fails"])
            return given.get("reply")

        told = {key: given[key] for key in ("description", "parameters") if given.get(key)}
        return {"call": call, **told}

    return {name: tool(given) for name, given in case.get("tools", {}).items()}


def write(folder: Path, case: dict[str, Any]) -> None:
    for name, file in case.get("files", {}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(file, dict):
            path.write_bytes(base64.b64decode(file["base64"]))
        else:
            lines = file if isinstance(file, list) else None
            path.write_bytes(("".join(f"{one}\n" for one in lines) if lines is not None else file).encode())


def same(wanted: Any, got: Any) -> bool:
    """Compares numbers as in JavaScript: 3 equals 3.0 but not True."""
    if isinstance(wanted, bool) or isinstance(got, bool):
        return wanted is got
    if isinstance(wanted, dict) and isinstance(got, dict):
        return wanted.keys() == got.keys() and all(same(wanted[key], got[key]) for key in wanted)
    if isinstance(wanted, list) and isinstance(got, list):
        return len(wanted) == len(got) and all(map(same, wanted, got))
    return wanted == got


def texts(given: str | list[str]) -> list[str]:
    return [given] if isinstance(given, str) else given


def merged(turns: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Consecutive messages of one role are joined with a blank line."""
    found: list[tuple[str, str]] = []
    for turn in turns:
        role, text = turn["role"], content(turn)
        if found and found[-1][0] == role:
            found[-1] = (role, f"{found[-1][1]}\n\n{text}")
        else:
            found.append((role, text))
    return found


def holds(wanted: Any, got: Any) -> bool:
    """Whether an object has the expected fields; it may have others."""
    if isinstance(wanted, dict) and isinstance(got, dict):
        return all(key in got and holds(wanted[key], got[key]) for key in wanted)
    return same(wanted, got)


def test_there_are_cases() -> None:
    assert sum(1 for _ in cases()) >= 668


@pytest.mark.parametrize("case", cases())
def test_case(case: dict[str, Any], tmp_path: Path) -> None:
    write(tmp_path, case)
    model, printed, warned = Model(case), [], []

    def watch(event: dict[str, Any]) -> None:
        if event["type"] == "printed":
            printed.append(event["text"])
        elif event["type"] == "warning":
            warned.append(event["text"])

    grants = case.get("grants", {})
    allowed = {f"allow_{name}": grants[name] for name in ("net", "run", "env") if name in grants}
    for name in ("read", "write"):
        allowed[f"allow_{name}"] = [tmp_path / folder for folder in grants.get(name, [])]
    limits = dict(case.get("limits", {}))
    for ours, theirs in (("js_ms", "js_time"), ("js_bytes", "js_memory")):
        if theirs in limits:
            limits[ours] = limits.pop(theirs)
    failed = got = None
    try:
        got = run(
            tmp_path / case["run"],
            case.get("args"),
            model=model,
            tools=tools_of(case),
            abilities=[name for name, has in case.get("abilities", {}).items() if has],
            parameters=case.get("parameters"),
            seed=case.get("seed", 1),
            limits=limits,
            on_event=watch,
            timeout=50,
            **allowed,
        )
    except QuilletError as error:
        failed = error
    expect = case["expect"]
    outcome(expect, got, failed)
    said = "\n".join(printed)
    assert all(part in said for part in expect.get("stdout_contains", []))
    assert not any(part in said for part in expect.get("stdout_excludes", []))
    assert printed == expect.get("stdout", printed)
    if failed is None:
        assert all(part in "\n".join(warned) for part in expect.get("warnings_contains", []))
    requests(expect, model.asked)


def outcome(expect: dict[str, Any], got: Any, failed: QuilletError | None) -> None:
    wants_error = any(expect.get(key) for key in ("error", "error_code", "error_contains"))
    if not wants_error:
        assert failed is None
        if "result" in expect:
            wanted = expect["result"]
            is_nothing = isinstance(wanted, dict) and "$undefined" in wanted
            assert same(None if is_nothing else wanted, got)
        if "result_in" in expect:
            assert any(same(one, got) for one in expect["result_in"])
        text = got if isinstance(got, str) else json.dumps(got, separators=(",", ":"), ensure_ascii=False)
        assert all(part in text for part in texts(expect.get("result_contains", [])))
        assert not any(part in text for part in texts(expect.get("result_excludes", [])))
        return
    assert failed is not None, got
    assert failed.code == expect.get("error_code", failed.code)
    found = [f"{one['source']}:{one['line']}:{one['column']}: {one['message']} ({one['hint']})" for one in failed.diagnostics]
    shown = "\n".join([str(failed), *found])
    assert all(part in shown for part in expect.get("error_contains", []))


def requests(
    expect: dict[str, Any], asked: list[tuple[list[dict[str, Any]], dict[str, Any]]]
) -> None:
    assert len(asked) == expect.get("request_count", len(asked))
    for index, wanted in enumerate(expect.get("requests", [])):
        assert merged(asked[index][0]) == merged(wanted)
    for index, parts in expect.get("request_contains", {}).items():
        assert all(part in text_of(asked[int(index)][0]) for part in parts)
    for index, parts in expect.get("request_excludes", {}).items():
        assert not any(part in text_of(asked[int(index)][0]) for part in parts)
    for index, options in expect.get("request_options", {}).items():
        for name, wanted in options.items():
            assert holds(wanted, asked[int(index)][1].get(name)), name
    for index, names in expect.get("request_without", {}).items():
        assert not asked[int(index)][1].keys() & set(names)
    for index, name in expect.get("request_models", {}).items():
        assert asked[int(index)][1]["model"] == name
    for index, wanted in expect.get("request_tools", {}).items():
        offers = [tool["function"] for tool in asked[int(index)][1].get("tools", [])]
        assert len(offers) == len(wanted)
        for one, offer in zip(wanted, offers, strict=True):
            assert offer["name"] == one if isinstance(one, str) else holds(one, offer)
