"""Every conformance vector of every format, as `crates/quillet/examples/answers.rs` runs them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from quillet_engine import QuilletError, Template, ToolWarning

ROOT = Path(__file__).parents[3]
CONFORMANCE = ROOT / "conformance"

# Converts integers to floats, because Go hosts read JSON numbers as 64-bit floats.
_FLOATS = {"parse_int": float}
_LARGEST = 2**63


def vectors(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Vectors of a file by id, including their data."""
    text = (CONFORMANCE / f"{name}.json").read_text()
    exact = json.loads(text, parse_int=_integer)
    floats = json.loads(text, **_FLOATS) if name.startswith("go-") else exact
    for vector, in_floats in zip(exact["vectors"], floats["vectors"], strict=True):
        file, own = exact, vector
        if name.startswith("go-") and vector.get("numbers") is None:
            file, own = floats, in_floats
        data = own["data"] if "data" in own else file["datasets"].get(own.get("dataset"))
        for key in ("functions", "partials"):
            reference = vector[key].get("$ref") if isinstance(vector.get(key), dict) else None
            if reference:
                vector[key] = exact["shared"][reference]
        yield vector.get("id") or vector["name"], {**vector, "data": data}


def _integer(text: str) -> int | float:
    number = int(text)
    return number if -_LARGEST <= number < _LARGEST else float(number)


def answer(name: str, vector: dict[str, Any]) -> dict[str, Any]:
    """Result of a vector: text, messages and failed calls, or an error."""
    text, options, variables = _work(name, vector)
    declared = vector.get("functions")
    declared = declared if isinstance(declared, dict) else {}
    tools = {tool: _function(one, variables) for tool, one in declared.items()}
    options = {"timeout": 60, "missing": _missing(vector), **options}
    keywords = {"tools": tools} if tools else {}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            template = Template(text, _format(name, vector), **options)
            rendered = template.render(variables, **keywords)
            failed = [str(one.message) for one in told if one.category is ToolWarning]
            messages = template.messages(variables, **keywords)
        except QuilletError as error:
            fields = ("code", "message", "line", "column", "hint")
            return {"error": {field: getattr(error, field) for field in fields}}
    return {"text": rendered, "messages": messages, "failed": failed}


def _format(name: str, vector: dict[str, Any]) -> str:
    match name:
        case "handlebars":
            return "handlebars" if vector["options"].get("noEscape") else "handlebars-html"
        case "jinja2" | "jinja2-differential":
            return "jinja" if vector["preset"] == "hf" else "jinja-plain"
        case "mustache":
            return "mustache-html"
        case "sk-chat-prompt":
            return "semantic-kernel"
        case "sk-handlebars":
            return "semantic-kernel-handlebars"
        case "sk-jinja2":
            return "semantic-kernel-jinja2"
        case "dotprompt" | "f-string" | "liquid" | "semantic-kernel":
            return name
        case _:
            return "go"


def _work(
    name: str, vector: dict[str, Any]
) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Returns the text, the options and the variables."""
    data = vector["data"]
    variables = data if isinstance(data, dict) else {}
    if name.startswith("go-"):
        sources = {source["name"]: source["text"] for source in vector["templates"]}
        entry = vector["entry"]
        # If two have the entry's name, the first is used, as in Rust.
        for source in reversed(vector["templates"]):
            if source["name"] == entry:
                sources[entry] = source["text"]
        if not isinstance(data, dict):
            text = "{{template %s .data}}" % json.dumps(entry)
            return text, {"name": "(root)", "partials": sources}, {"data": data}
        text = sources.pop(entry, "")
        return text, {"name": entry, "partials": sources}, variables
    options: dict[str, Any] = {}
    if isinstance(vector.get("partials"), dict):
        options["partials"] = vector["partials"]
    if name in ("sk-chat-prompt", "sk-handlebars", "sk-jinja2"):
        options["messages"] = "elements"
    if name == "dotprompt":
        source = vector["source"]
        if source.startswith("---\n") and "\n---\n" in source[4:]:
            source = source[4:].split("\n---\n", 1)[1]
        return source, options, variables
    return vector.get("template") or vector.get("rendered") or "", options, variables


def _missing(vector: dict[str, Any]) -> str:
    kinds = {
        "missingkey=error": "strict",
        "missingkey=zero": "zero",
        "missingkey=default": "default",
        "missingkey=invalid": "default",
    }
    options = vector.get("options")
    given = [kinds[one] for one in options if one in kinds] if isinstance(options, list) else []
    return given[-1] if given else "default"


def _function(
    declared: dict[str, Any], variables: dict[str, Any]
) -> Callable[..., Any]:
    """Creates a function declared in a file: `const`, `echo`, `template` or one that fails."""
    parameters = declared.get("params", [])
    body = declared["body"]

    def function(*arguments: Any, **named: Any) -> Any:
        bound = {}
        for index, parameter in enumerate(parameters):
            name = parameter["name"]
            if name in named:
                bound[name] = named[name]
            elif index < len(arguments):
                bound[name] = arguments[index]
            elif name in variables:
                bound[name] = variables[name]
            elif "default" in parameter:
                bound[name] = parameter["default"]
            else:
                raise Failed(f"missing argument {name}")
        match body["op"]:
            case "const":
                return body["value"]
            case "echo":
                return next(iter(bound.values()), None)
            case "template":
                text = body["text"]
                for name, value in bound.items():
                    text = text.replace(f"{{{name}}}", _printed(value))
                return text
            case _:
                raise Failed(body["message"])

    function.__signature__ = _signature(parameters)  # type: ignore[attr-defined]
    return function


class Failed(Exception):
    """Exception raised by a function of a vector."""


def _signature(parameters: list[dict[str, Any]]) -> Any:
    from inspect import Parameter, Signature

    kind = Parameter.POSITIONAL_OR_KEYWORD
    try:
        return Signature([Parameter(one["name"], kind) for one in parameters])
    except ValueError:
        return None


def _printed(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
