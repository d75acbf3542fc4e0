"""Drives work of the engine whose functions are Python's.

The work says which calls it waits for, and is told what they gave. Plain functions run in threads
of their own, so that calls run side by side, and one that hangs holds nobody up: the work's limit
on time, or control-C, ends the work, and the thread is left alone. It is a daemon, which ends with
the process. Asynchronous functions run in the event loop of the caller.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from quillet_engine import OptionError, QuilletError, ToolWarning

from . import _service
from ._functions import Function, is_async, loop_is_running, said

# The functions by name; that of no name is the model.
Functions = Mapping[str | None, Function]
Watch = Callable[[dict[str, Any]], Any]
Outcome = tuple[Any, list[tuple[str, str]]]

# How long a cancelled call may take to clean up, in seconds.
_PATIENCE = 1.0
_ASYNCHRONOUS = "it is asynchronous, and was not declared so"


def drive(
    begin: Callable[[], _service.Work], functions: Functions, watch: Watch | None, instead: str
) -> Any:
    """The value of a work, waited for in this thread; ``instead`` is what to await in its place."""
    if not any(map(is_async, functions.values())):
        return _value(_drive(begin(), functions, watch))
    if loop_is_running():
        raise OptionError(
            "a function is asynchronous, and an event loop runs in this thread already",
            code="option.value",
            hint=f"await {instead}(…)",
        )
    return asyncio.run(drive_async(begin, functions, watch))


def _drive(work: _service.Work, functions: Functions, watch: Watch | None) -> Outcome:
    calls = _Calls(work)
    try:
        while (news := work.wait()) is not None:
            for kind, *what in news:
                if kind == "call":
                    call, name, arguments, named = what
                    calls.begin(call, functions[name], arguments, named)
                elif kind == "event" and watch is not None:
                    watch(*what)
        return _outcome(calls)
    finally:
        work.cancel()


class _Calls:
    """Calls that run in threads."""

    def __init__(self, work: _service.Work) -> None:
        self.work = work
        # What a function raised last, which may be why the work failed.
        self.cause: Exception | None = None
        # What is no error of a function: it ends everything.
        self.end: BaseException | None = None

    def begin(
        self, call: int, function: Function, arguments: tuple[Any, ...], named: dict[str, Any]
    ) -> None:
        context = contextvars.copy_context()
        thread = threading.Thread(
            target=context.run,
            args=(self._make, call, function, arguments, named),
            name=f"quillet call {call}",
            daemon=True,
        )
        thread.start()

    def _make(
        self, call: int, function: Function, arguments: tuple[Any, ...], named: dict[str, Any]
    ) -> None:
        try:
            given = function(*arguments, **named)
            if hasattr(given, "__await__"):
                # Else the interpreter complains of a coroutine that nobody awaited.
                getattr(given, "close", lambda: None)()
                self.work.fail(call, _ASYNCHRONOUS)
            else:
                self.work.answer(call, _data(given))
        except Exception as error:
            self.cause = error
            self.work.fail(call, said(error))
        except BaseException as error:
            self.end = error
            self.work.cancel()


async def drive_async(
    begin: Callable[[], _service.Work], functions: Functions, watch: Watch | None
) -> Any:
    """The value of a work, with functions that may be asynchronous."""
    loop = asyncio.get_running_loop()
    woken = asyncio.Event()

    def ring() -> None:
        try:
            loop.call_soon_threadsafe(woken.set)
        except RuntimeError:
            pass  # The loop was closed meanwhile.

    work = begin()
    calls = _Tasks(work)
    try:
        work.listen(ring)
        news: list[Any] | None = []
        while news is not None:
            await woken.wait()
            woken.clear()
            # Until there is none: the bell of what comes meanwhile may have been heard already.
            while news := work.poll():
                for kind, *what in news:
                    if kind == "call":
                        call, name, arguments, named = what
                        calls.begin(call, functions[name], arguments, named)
                    elif kind == "gone":
                        calls.cancel(*what)
                    elif watch is not None:
                        watch(*what)
        return _value(_outcome(calls))
    finally:
        work.cancel()
        await calls.end_all()


class _Tasks:
    """Calls that run in the event loop, or in threads that it waits for."""

    def __init__(self, work: _service.Work) -> None:
        self.work = work
        self.running: dict[int, asyncio.Task[None]] = {}
        self.cause: Exception | None = None
        self.end: BaseException | None = None

    def begin(
        self, call: int, function: Function, arguments: tuple[Any, ...], named: dict[str, Any]
    ) -> None:
        made = self._make(call, function, arguments, named)
        task = asyncio.get_running_loop().create_task(made)
        self.running[call] = task
        task.add_done_callback(lambda _: self.running.pop(call, None))

    async def _make(
        self, call: int, function: Function, arguments: tuple[Any, ...], named: dict[str, Any]
    ) -> None:
        try:
            if is_async(function):
                given = function(*arguments, **named)
            else:
                given = await _in_thread(function, arguments, named)
            if hasattr(given, "__await__"):
                given = await given
            self.work.answer(call, _data(given))
        except asyncio.CancelledError:
            self.work.fail(call, "it was cancelled")
            raise
        except Exception as error:
            self.cause = error
            self.work.fail(call, said(error))
        except BaseException as error:
            self.end = error
            self.work.cancel()

    def cancel(self, call: int) -> None:
        if task := self.running.get(call):
            task.cancel()

    async def end_all(self) -> None:
        """Cancels what runs, and lets it end; what does not want to is left alone."""
        tasks = list(self.running.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_PATIENCE)


async def _in_thread(
    function: Function, arguments: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    """Calls a function in a thread that nobody waits for at the end of the process, which the event
    loop's own threads are."""
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    context = contextvars.copy_context()

    def settle(give: Callable[[Any], None], given: Any) -> None:
        if not future.done():
            give(given)

    def work() -> None:
        try:
            given = context.run(function, *arguments, **named)
            tell = (settle, future.set_result, given)
        except StopIteration as error:
            # No future takes one.
            tell = (settle, future.set_exception, RuntimeError(said(error)))
        except BaseException as error:
            tell = (settle, future.set_exception, error)
        try:
            loop.call_soon_threadsafe(*tell)
        except RuntimeError:
            pass  # The loop was closed meanwhile.

    threading.Thread(target=work, name="quillet call", daemon=True).start()
    return await future


def _outcome(calls: _Calls | _Tasks) -> Outcome:
    """Returns the result of an ended task, unless an exception of a function ended it."""
    if calls.end is not None:
        raise calls.end
    try:
        return calls.work.result()
    except QuilletError as error:
        raise error from calls.cause


def _data(given: Any) -> Any:
    """What a function gave; models of pydantic, such as OpenAI's client gives, as data."""
    dump = getattr(given, "model_dump", None)
    return dump() if callable(dump) else given


def at_once(outcome: Outcome) -> Any:
    """The value of what needed no functions."""
    return _value(outcome)


def _value(outcome: Outcome) -> Any:
    """Returns the value; failed tools become warnings."""
    value, failures = outcome
    for tool, why in failures:
        message = f"the call of {tool} failed, and it is rendered as empty text: {why}"
        # At the line that asked for the render: above this, `drive`, `_rendered` and `render`.
        warnings.warn(message, ToolWarning, stacklevel=5)
    return value
