"""Functions of a program as tools: their descriptions for templates, scripts and models."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from quillet_engine import OptionError

Function = Callable[..., Any]

# JSON Schema types of annotations. Deferred annotations are strings.
_TYPES = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "list": "array",
    "tuple": "array",
    "dict": "object",
}
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def read(
    tools: Mapping[str, Function | Mapping[str, Any]] | None,
) -> tuple[dict[str, Function], list[dict[str, Any]]]:
    """Returns the functions by name, with their descriptions.

    A tool is a function, or a dict with ``call``. In a dict, ``description`` and ``parameters`` (a
    JSON Schema) replace the function's docstring and signature.
    """
    functions: dict[str, Function] = {}
    described = []
    for name, tool in (tools or {}).items():
        told: dict[str, Any] = {}
        call: Any = tool
        if isinstance(tool, Mapping):
            told = dict(tool)
            call = told.pop("call", None)
            unknown = set(told) - {"description", "parameters"}
            if unknown:
                raise OptionError(
                    f"tools[{name!r}] has no {', '.join(sorted(unknown))}",
                    code="option.value",
                    hint="valid names are call, description, parameters",
                )
        if not callable(call):
            raise OptionError(
                f"tools[{name!r}] cannot be called",
                code="option.value",
                hint="give a function, or a dict with call, description, parameters",
            )
        functions[name] = call
        schema = told.get("parameters") or parameters(call)
        description = told.get("description") or _description(call)
        described.append({"name": name, "description": description, "parameters": schema})
    return functions, described


def parameters(function: Function) -> dict[str, Any] | None:
    """Returns the JSON Schema of the arguments, if all of them have names."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if not all(one.kind in _NAMED or one.kind is one.VAR_KEYWORD for one in found):
        return None
    named = [one for one in found if one.kind in _NAMED]
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {one.name: _type(one.annotation) for one in named},
    }
    required = [one.name for one in named if one.default is one.empty]
    if required:
        schema["required"] = required
    return schema


def _type(annotation: Any) -> dict[str, str]:
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    kind = _TYPES.get(name.split("[")[0])
    return {"type": kind} if kind else {}


def _description(function: Function) -> str:
    # Classes and instances inherit a docstring that does not describe them.
    if not (inspect.isroutine(function) or inspect.isclass(function)):
        return ""
    text = inspect.getdoc(function) or ""
    return text.split("\n\n")[0].replace("\n", " ")


def is_async(function: Function) -> bool:
    """Whether a function is declared asynchronous."""
    while hasattr(function, "func") and not inspect.isroutine(function):
        function = function.func  # functools.partial
    call = getattr(type(function), "__call__", None)
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def loop_is_running() -> bool:
    """Whether an event loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def said(error: BaseException) -> str:
    """Formats an exception in one line: ``ValueError: no such city``."""
    try:
        text = str(error)
    except Exception:
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
