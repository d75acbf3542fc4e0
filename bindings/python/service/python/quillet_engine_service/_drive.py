"""Drives background tasks of the engine that call Python functions.

A task reports the calls it waits for and receives their results. Each plain function call runs in
its own thread, so calls run concurrently and a call that hangs does not block others. If the timeout
or control-C ends the task, the thread is abandoned; as a daemon thread, it ends with the process.
Asynchronous functions run in the caller's event loop.
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

# The functions by name; the model is under None.
Functions = Mapping[str | None, Function]
Watch = Callable[[dict[str, Any]], Any]
Outcome = tuple[Any, list[tuple[str, str]]]

# How long a cancelled call may take to clean up, in seconds.
_PATIENCE = 1.0
_ASYNCHRONOUS = "it is asynchronous but not declared as such"


def drive(
    begin: Callable[[], _service.Work], functions: Functions, watch: Watch | None, instead: str
) -> Any:
    """Waits in this thread for the value of a task; ``instead`` names the asynchronous alternative.
    """
    if not any(map(is_async, functions.values())):
        return _value(_drive(begin(), functions, watch))
    if loop_is_running():
        raise OptionError(
            "a function is asynchronous, but this thread already runs an event loop",
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
    """Runs calls in threads."""

    def __init__(self, work: _service.Work) -> None:
        self.work = work
        # Last exception of a function, a possible cause if the task fails.
        self.cause: Exception | None = None
        # An exception that is not a function error, such as KeyboardInterrupt; it ends the task.
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
                # Close the coroutine, or the interpreter warns that it was never awaited.
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
    """Waits for the value of a task with functions that may be asynchronous."""
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
            # Loop until there are no events, because the callback for new events may have run
            # already.
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
    """Runs calls in the event loop, or in threads that the event loop waits for."""

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
    """Calls a function in a daemon thread. The process would wait for the event loop's own threads
    when it ends.
    """
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
            # A future does not accept StopIteration.
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
    """Returns the result of a function; pydantic models, such as those of OpenAI's client, become
    plain data.
    """
    dump = getattr(given, "model_dump", None)
    return dump() if callable(dump) else given


def at_once(outcome: Outcome) -> Any:
    """Returns the value of a task without function calls."""
    return _value(outcome)


def _value(outcome: Outcome) -> Any:
    """Returns the value; failed tools become warnings."""
    value, failures = outcome
    for tool, why in failures:
        message = f"the call of {tool} failed, and it is rendered as empty text: {why}"
        # Points to the caller's line: above this, `drive`, `_rendered` and `render`.
        warnings.warn(message, ToolWarning, stacklevel=5)
    return value
