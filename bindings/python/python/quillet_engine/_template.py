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
    """A segment of a rendered text, with its origin."""

    kind: str
    """``literal`` for the template's own text, ``interp`` for a value that was printed."""
    text: str
    """The text, never empty."""
    source: str | None
    """The variable or the function that was printed, where it was one alone."""


class Template(_engine.Template):
    """A compiled template, which any thread can render any number of times.

    >>> Template("Hello {{ name }}!").render(name="Ada")
    'Hello Ada!'

    Args:
        text: the template.
        format: a name or an alias from :func:`formats`. ``jinja`` is Jinja as used by chat
            templates of transformers, ``jinja-plain`` is Jinja with its default settings.
        name: the template's name in errors; the template can include itself by this name.
        partials: templates that this one can include, by name.
        missing: handling of missing variables: ``default`` follows the format's reference
            implementation, ``strict`` raises an error, ``zero`` and ``empty`` print as in Go.
        messages: syntax that divides the text into messages: ``role-lines`` (``system:`` on a
            separate line), ``elements`` (``<message role="user">``), ``plain`` (only helpers of the
            format).
        filters: functions that Jinja templates can also use as filters.
        trusted: variables whose text may contain message boundaries.
        timeout: timeout of a render in seconds; 0.5 by default, 30 with ``tools``.
        limits: other limits by name, such as ``steps``, ``output_bytes``, ``calls``.

    Raises:
        TemplateSyntaxError: the template does not compile.
    """

    def segments(
        self, variables: Mapping[str, Any] | None = None, /, **named: Any
    ) -> list[Segment]:
        """Renders to segments with the variable that each comes from."""
        return [Segment(*piece) for piece in super().segments(variables, **named)]

    async def render_async(
        self,
        variables: Mapping[str, Any] | None = None,
        /,
        *,
        tools: Mapping[str, Callable[..., Any]] | Any = None,
        **named: Any,
    ) -> str:
        """Renders to text with functions that may be asynchronous.

        Independent calls run concurrently. If a call raises an exception, its result is empty and a
        :class:`ToolWarning` is emitted. A call that is still running at the timeout of the render
        is cancelled and counts as failed.
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
        """Renders to messages with functions that may be asynchronous; see :meth:`render_async`."""
        return (await self._drive(variables, tools, named)).messages()

    async def _drive(
        self,
        variables: Mapping[str, Any] | None,
        tools: Any,
        named: dict[str, Any],
    ) -> _engine.Rendering:
        # Imported here, because the import takes longer than the whole package and many programs
        # never need it.
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
    """Returns the functions, if ``tools`` is a dict of callables; any other value is a variable."""
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
    """Waits until a call has ended, and passes all available results to the render."""
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
    """Cancels running calls and waits briefly for them to end; abandons those that do not."""
    import asyncio

    tasks = list(running)
    running.clear()
    for task in tasks:
        # Retrieve the exception; otherwise the event loop warns that it was never retrieved.
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
    """Recreates a template from another process."""
    return kind(text, format, **(options or {}))


