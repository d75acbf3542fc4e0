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
    """Runs a script and returns its result.

    >>> script = '''
    ... ---
    ... input: [name]
    ... ---
    ... system: Be brief.
    ... user: "Greet {{name}}."
    ... '''
    >>> run(script, {"name": "Ada"}, model=lambda messages: f"Hello! ({len(messages)} messages)")
    'Hello! (2 messages)'

    By default, a script only calls the model and the tools passed to it. It cannot access files,
    processes or the network unless an argument grants it.

    Args:
        script: a file, a package folder or an id (a single line), or the script itself (several
            lines).
        inputs: a dict of inputs by name, or a single value: the first input, or the user message if
            there is no input.
        model: a function that receives messages in OpenAI's format, and the other request options
            as those keyword arguments that it accepts (``model``, ``temperature``, ``tools``,
            ``response_format``, …). It returns a text, an assistant message (optionally with
            ``tool_calls``), or a whole chat completion; objects with ``model_dump`` work too.
        tools: functions by name that the script may call and offer to the model, or dicts with
            ``call``, ``description`` and ``parameters`` (a JSON Schema).
        timeout: timeout of the whole run in seconds; none by default.
        abilities: capabilities of the model: ``tools`` (the default), ``json_schema``,
            ``json_object``, ``logit_bias``, ``continues``. Missing capabilities are requested in
            the prompt, and the answer is checked.
        parameters: model parameters that override those of the script.
        search: folders to search for scripts that this script names.
        seed: seed for random choices.
        limits: limits by name: ``steps``, ``depth``, ``model_calls``, ``tokens``, ``messages``,
            ``bytes``, ``own_ms``, ``js_ms``, ``js_bytes``.
        on_event: a function that is called with each event, a dict with ``type``: ``printed``,
            ``message``, ``thinking``, ``tool_call``, ``tool_result``, ``warning``.
        allow_read, allow_write: folders that the script may read and write.
        allow_net: whether the script may connect to public addresses.
        allow_run: whether the script may start interpreters for other languages.
        allow_env: environment variables that the script may read.

    Raises:
        ScriptError: the script is invalid or fails; ``line`` and ``column`` refer to the script. An
            exception of a function is its ``__cause__``.
        LimitError: a limit was reached.
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
    """Like :func:`run`, with functions that may be asynchronous."""
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
            hint="pass a function that takes messages and returns a string",
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
        # Otherwise each letter of a string would be a folder.
        raise OptionError(
            f"{name} must be a list, not one text",
            code="option.value",
            hint=f"give a list: [{os.fspath(option)!r}]",
        )
    return [os.fspath(one) for one in option]


def _source(script: str | os.PathLike[str]) -> tuple[str | None, str | None]:
    """Returns the path or the text; a text with several lines is not a path."""
    if isinstance(script, str) and "\n" in script:
        return None, script
    return os.fspath(script), None


def _model(model: Function) -> Function:
    """Wraps the model function to receive only the keyword arguments it accepts."""
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
    """Returns the keyword arguments that a function accepts, or all if it accepts any."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return None
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    # The first parameter receives the messages.
    return [one.name for one in parameters[1:] if one.kind in kinds]

