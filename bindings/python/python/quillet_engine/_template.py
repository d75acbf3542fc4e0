"""Templates: the Python layer over the compiled module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _engine

if TYPE_CHECKING:
    import asyncio

# Time that remains for the template after its last call timed out, in seconds.
_MARGIN = 0.02
# How long a cancelled call may take to clean up, in seconds.
_PATIENCE = 1.0


class Segment(NamedTuple):
    """A piece of a rendered text that says where it comes from."""

    kind: str
    """``literal`` for the template's own text, ``interp`` for a value that was printed."""
    text: str
    """The text, never empty."""
    source: str | None
    """The variable or the function that was printed, where it was one alone."""


class Template(_engine.Template):
    """A template that was compiled, to be rendered any number of times, from any thread.

    >>> Template("Hello {{ name }}!").render(name="Ada")
    'Hello Ada!'

    Args:
        text: the template.
        format: its format, by a name or an alias of :func:`formats`. ``jinja`` is Jinja as chat
            templates of transformers use it, ``jinja-plain`` Jinja without settings.
        name: its name in errors, and by which it can include itself.
        partials: templates that it can call, by name.
        missing: what happens to a variable that is not there: ``default`` is what the format's own
            host does, ``strict`` an error, ``zero`` and ``empty`` what Go prints.
        messages: what divides the text into messages: ``role-lines`` (``system:`` on a line of its
            own), ``elements`` (``<message role="user">``), ``plain`` (nothing, or the format's own
            helpers).
        filters: functions that Jinja's formats take as filters too.
        trusted: variables whose text may carry message structure of its own.
        timeout: seconds that a render may take; 0.5, with ``tools`` 30.
        limits: other bounds by name, such as ``steps``, ``output_bytes``, ``calls``.

    Raises:
        TemplateSyntaxError: it does not compile.
    """

    def segments(
        self, variables: Mapping[str, Any] | None = None, /, **named: Any
    ) -> list[Segment]:
        """The text in pieces that say which variable each comes from."""
        return [Segment(*piece) for piece in super().segments(variables, **named)]

    async def render_async(
        self,
        variables: Mapping[str, Any] | None = None,
        /,
        *,
        tools: Mapping[str, Callable[..., Any]] | Any = None,
        **named: Any,
    ) -> str:
        """The text, with functions that may be asynchronous.

        Calls that do not need each other's results run side by side. An exception in one leaves its
        place empty and is told as a :class:`ToolWarning`; a call that has not ended when the time of
        the render is over is cancelled and counts as failed.
        """
        return (await self._drive(variables, tools, named)).text()

    async def messages_async(
        self,
        variables: Mapping[str, Any] | None = None,
        /,
        *,
        tools: Mapping[str, Callable[..., Any]] | Any = None,
        **named: Any,
    ) -> list[dict[str, Any]]:
        """The messages, with functions that may be asynchronous; see :meth:`render_async`."""
        return (await self._drive(variables, tools, named)).messages()

    async def _drive(
        self,
        variables: Mapping[str, Any] | None,
        tools: Any,
        named: dict[str, Any],
    ) -> _engine.Rendering:
        # Loaded here: it takes longer than the whole package, and many never need it.
        import asyncio

        functions = _functions(tools)
        if functions is None:
            functions = {}
            if tools is not None:
                named["tools"] = tools
        rendering = self._begin(variables, named, functions)
        running: dict[asyncio.Future[Any], int] = {}
        try:
            while (calls := rendering.step()) is not None:
                for call, function, arguments, keywords in calls:
                    work = _called(functions[function], arguments, keywords)
                    running[asyncio.ensure_future(work)] = call
                await _some_end(rendering, running)
        finally:
            await _cancel(running)
        rendering.warn()
        return rendering


def _functions(tools: Any) -> dict[str, Callable[..., Any]] | None:
    """The functions, if these are some: anything else that is called so is a variable."""
    if isinstance(tools, Mapping) and tools and all(map(callable, tools.values())):
        return dict(tools)
    return None


async def _called(
    function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    given = function(*arguments, **keywords)
    return await given if hasattr(given, "__await__") else given


async def _some_end(
    rendering: _engine.Rendering, running: dict[asyncio.Future[Any], int]
) -> None:
    """Waits until a call has ended, and passes all results to the render."""
    import asyncio

    time_left = max(rendering.time_left() - _MARGIN, 0)
    ended, _ = await asyncio.wait(
        running, timeout=time_left, return_when=asyncio.FIRST_COMPLETED
    )
    if not ended:
        rendering.fail_all("it did not answer within the render timeout")
        await _cancel(running)
        return
    for task in ended:
        call = running.pop(task)
        if task.cancelled():
            rendering.fail(call, "it was cancelled")
        elif (error := task.exception()) is None:
            rendering.answer(call, task.result())
        elif isinstance(error, Exception):
            rendering.fail(call, _said(error))
        else:
            raise error


async def _cancel(running: dict[asyncio.Future[Any], int]) -> None:
    """Cancels what runs, and lets it end; what does not want to is left alone."""
    import asyncio

    tasks = list(running)
    running.clear()
    for task in tasks:
        # Nobody asks for its exception any more, which the loop would complain of.
        task.add_done_callback(lambda task: task.cancelled() or task.exception())
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=_PATIENCE)


def _said(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _make(
    kind: type[Template], text: str, format: str, options: dict[str, Any] | None
) -> Template:
    """A template as it was in another process."""
    return kind(text, format, **(options or {}))


