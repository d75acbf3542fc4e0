"""Scripts, ``.ai.yaml``."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from quillet_engine import OptionError

from . import _functions, _service
from ._drive import Watch, drive, drive_async
from ._functions import Function


def run(
    script: str | os.PathLike[str],
    inputs: Any = None,
    *,
    model: Function,
    tools: Mapping[str, Function | Mapping[str, Any]] | None = None,
    timeout: float | None = None,
    **options: Any,
) -> Any:
    """The result of a script.

    >>> script = '''
    ... ---
    ... input: [name]
    ... ---
    ... system: Be brief.
    ... user: "Greet {{name}}."
    ... '''
    >>> run(script, {"name": "Ada"}, model=lambda messages: f"Hello! ({len(messages)} messages)")
    'Hello! (2 messages)'

    Nothing outside of the script is granted unless an argument says so: it asks the model, calls
    the tools that it is given, and touches no file, no process and no network.

    Args:
        script: a file, a folder of a package or an id (one line), or the script itself (several).
        inputs: a dict of inputs by name, or one value: the first input, or else what the user says.
        model: a function that is given messages in OpenAI's shape and what else a request says as
            keywords (``model``, ``temperature``, ``tools``, ``response_format``, …), as far as it
            takes them. It returns a text, a message of the assistant (with ``tool_calls``, if it
            likes), or a whole chat completion; objects with ``model_dump`` too.
        tools: functions by name that the script may call, and offer to the model; or dicts with
            ``call``, ``description`` and ``parameters``, a JSON Schema.
        timeout: most seconds for all of it; any by default.
        abilities: what the model can do itself: ``tools`` (the default), ``json_schema``,
            ``json_object``, ``logit_bias``, ``continues``. What it cannot, is asked for in words
            and checked.
        parameters: parameters of models that win over those of the script.
        search: folders in which scripts are looked for that it names.
        seed: where random choices start from.
        limits: bounds by name: ``steps``, ``depth``, ``model_calls``, ``tokens``, ``messages``,
            ``bytes``, ``own_ms``, ``js_ms``, ``js_bytes``.
        on_event: a function that is told what happens, as dicts with ``type``: ``printed``,
            ``message``, ``thinking``, ``tool_call``, ``tool_result``, ``warning``.
        allow_read, allow_write: folders that it may read and write.
        allow_net: whether it may connect to public addresses.
        allow_run: whether it may start interpreters of other languages.
        allow_env: names of variables of the environment that it may read.

    Raises:
        ScriptError: it is broken or fails; ``line`` and ``column`` are those of the script. What a
            function raised is its ``__cause__``.
        LimitError: a bound was reached.
    """
    begin, functions, watch = _begin(script, inputs, model, tools, timeout, options)
    return drive(begin, functions, watch, "run_async")


async def run_async(
    script: str | os.PathLike[str],
    inputs: Any = None,
    *,
    model: Function,
    tools: Mapping[str, Function | Mapping[str, Any]] | None = None,
    timeout: float | None = None,
    **options: Any,
) -> Any:
    """The same with functions that may be asynchronous; see :func:`run`."""
    begin, functions, watch = _begin(script, inputs, model, tools, timeout, options)
    return await drive_async(begin, functions, watch)


_LISTS = ("abilities", "search", "allow_read", "allow_write", "allow_env")
_OTHERS = ("parameters", "seed", "limits", "allow_net", "allow_run")


def _begin(
    script: str | os.PathLike[str],
    inputs: Any,
    model: Function,
    tools: Mapping[str, Function | Mapping[str, Any]] | None,
    timeout: float | None,
    options: dict[str, Any],
) -> tuple[Callable[[], _service.Work], dict[str | None, Function], Watch | None]:
    if not callable(model):
        raise OptionError(
            "model cannot be called",
            code="option.value",
            hint="give a function of messages that returns a text",
        )
    functions, described = _functions.read(tools)
    watch = options.pop("on_event", None)
    given: dict[str, Any] = {"tools": described, "watched": watch is not None}
    if timeout is not None:
        given["timeout"] = timeout
    for name, option in options.items():
        if name not in _LISTS and name not in _OTHERS:
            raise OptionError(
                f"unknown option {name!r}",
                code="option.value",
                hint="options are on_event, " + ", ".join(sorted(_LISTS + _OTHERS)),
            )
        if option is not None:
            given[name] = _texts(name, option) if name in _LISTS else option
    path, text = _source(script)
    all_functions: dict[str | None, Function] = {None: _model(model), **functions}
    return lambda: _service.begin_run(path, text, inputs, given), all_functions, watch


def _texts(name: str, option: Iterable[str | os.PathLike[str]]) -> list[str]:
    if isinstance(option, str | os.PathLike):
        # Each of its letters would be a folder.
        raise OptionError(
            f"{name} must be a list, not one text",
            code="option.value",
            hint=f"give a list: [{os.fspath(option)!r}]",
        )
    return [os.fspath(one) for one in option]


def _source(script: str | os.PathLike[str]) -> tuple[str | None, str | None]:
    """The path, or the text: what has several lines is no path."""
    if isinstance(script, str) and "\n" in script:
        return None, script
    return os.fspath(script), None


def _model(model: Function) -> Function:
    """The model as it is called: with what it takes."""
    names = _keywords(model)

    def given(options: dict[str, Any]) -> dict[str, Any]:
        if names is None:
            return options
        return {name: option for name, option in options.items() if name in names}

    if _functions.is_async(model):

        async def ask(messages: list[dict[str, Any]], **options: Any) -> Any:
            return await model(messages, **given(options))

    else:

        def ask(messages: list[dict[str, Any]], **options: Any) -> Any:  # type: ignore[misc]
            return model(messages, **given(options))

    return ask


def _keywords(function: Function) -> Sequence[str] | None:
    """The keywords that a function takes; all of them where it takes any."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return None
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    # The first takes the messages.
    return [one.name for one in parameters[1:] if one.kind in kinds]

