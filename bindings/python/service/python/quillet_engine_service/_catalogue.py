"""Prompts of a store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from quillet_engine import OptionError

from . import _functions, _service
from ._drive import at_once, drive, drive_async
from ._functions import Function

Tools = Mapping[str, "Function | Mapping[str, Any]"]


class Catalogue(_service.Catalogue):
    """The prompts of a store, kept up to date with writes by other programs.

    >>> catalogue = Catalogue("memory:")
    >>> catalogue.put("greet.hello", "Hello {{ name }}!", format="jinja")
    1
    >>> catalogue.render("greet.hello", name="Ada")
    'Hello Ada!'

    It can be shared between threads. It closes at the end of a ``with`` block, or when it is no
    longer referenced. A forked process opens the store again.

    Args:
        store: an address as for ``quillet serve --store``, such as ``dir:PATH``, ``sqlite:FILE``,
            ``redis://HOST`` or ``memory:``. Other settings come from the same environment variables
            as for ``quillet serve``.
        timeout: timeout of one render in seconds.

    Raises:
        OptionError: the address is invalid. A server that does not respond yet is not an error
            here.
    """

    def render(
        self,
        id: str,
        variables: Mapping[str, Any] | None = None,
        /,
        *,
        label: str | None = None,
        version: int | None = None,
        tools: Tools | Any = None,
        **named: Any,
    ) -> str:
        """Renders a prompt to text, with the role before each message.

        Args:
            label: selects the version that this label points to.
            version: selects the version with this number. Without ``label`` and ``version``, the
                label ``production`` applies, or else the current text in the store.
            tools: functions that the prompt may call; they take precedence over the store's tools.
                Any other value of that name is a variable.
        """
        return self._rendered(id, variables, named, label, version, tools, False)

    def messages(
        self,
        id: str,
        variables: Mapping[str, Any] | None = None,
        /,
        *,
        label: str | None = None,
        version: int | None = None,
        tools: Tools | Any = None,
        **named: Any,
    ) -> list[dict[str, Any]]:
        """Renders a prompt to messages in OpenAI's format. A text becomes one user message."""
        return self._rendered(id, variables, named, label, version, tools, True)

    async def render_async(
        self,
        id: str,
        variables: Mapping[str, Any] | None = None,
        /,
        *,
        label: str | None = None,
        version: int | None = None,
        tools: Tools | Any = None,
        **named: Any,
    ) -> str:
        """Renders to text with functions that may be asynchronous and run concurrently."""
        return await self._rendered_async(id, variables, named, label, version, tools, False)

    async def messages_async(
        self,
        id: str,
        variables: Mapping[str, Any] | None = None,
        /,
        *,
        label: str | None = None,
        version: int | None = None,
        tools: Tools | Any = None,
        **named: Any,
    ) -> list[dict[str, Any]]:
        """Renders to messages with functions that may be asynchronous."""
        return await self._rendered_async(id, variables, named, label, version, tools, True)

    def put(
        self,
        id: str,
        prompt: str | Mapping[str, Any],
        *,
        format: str = "jinja",
        labels: Iterable[str] = (),
        author: str | None = None,
        message: str = "",
    ) -> int:
        """Writes a prompt from the text of a template, or from a whole definition as a dict.

        Returns the version number, which is new if the definition has changed. ``labels`` move to
        that version in the same write.

        Raises:
            TemplateSyntaxError: the prompt is invalid and was not written.
            StoreError: the store rejected the write.
        """
        definition = dict(prompt) if isinstance(prompt, Mapping) else None
        if definition is None:
            definition = {"prompt": prompt, "format": format}
        return super().write(id, definition, list(labels), author, message)

    def set_label(self, id: str, label: str, version: int | None) -> dict[str, Any]:
        """Moves a label to a version, or removes it with None. Returns all labels of the prompt."""
        return super().label(id, label, version)

    def __len__(self) -> int:
        return len(self.ids())

    def __iter__(self):
        return iter(self.ids())

    def __contains__(self, id: object) -> bool:
        return id in self.ids()

    def __enter__(self) -> Catalogue:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _rendered(
        self,
        id: str,
        variables: Mapping[str, Any] | None,
        named: dict[str, Any],
        label: str | None,
        version: int | None,
        tools: Any,
        as_messages: bool,
    ) -> Any:
        if tools is None:
            which = _which(label, version)
            return at_once(self.rendered(id, variables, named, which, as_messages))
        begin, functions = self._begin(id, variables, named, label, version, tools, as_messages)
        instead = "messages_async" if as_messages else "render_async"
        return drive(begin, functions, None, f"catalogue.{instead}")

    async def _rendered_async(self, *given: Any) -> Any:
        begin, functions = self._begin(*given)
        return await drive_async(begin, functions, None)

    def _begin(
        self,
        id: str,
        variables: Mapping[str, Any] | None,
        named: dict[str, Any],
        label: str | None,
        version: int | None,
        tools: Any,
        as_messages: bool,
    ) -> tuple[Any, dict[str | None, Function]]:
        which = _which(label, version)
        functions: dict[str, Function] = {}
        described: list[dict[str, Any]] = []
        if _are_tools(tools):
            functions, described = _functions.read(tools)
        elif tools is not None:
            # Chat templates have a variable of that name.
            named["tools"] = tools

        def begin() -> _service.Work:
            return self.begin_render(id, variables, named, which, as_messages, described)

        return begin, dict(functions)


def _which(label: str | None, version: int | None) -> str | int | None:
    if label is not None and version is not None:
        raise OptionError(
            "a label and a version cannot be combined",
            code="option.value",
            hint="pass only one of them",
        )
    return version if label is None else label


def _are_tools(tools: Any) -> bool:
    if not isinstance(tools, Mapping) or not tools:
        return False
    calls = (one.get("call") if isinstance(one, Mapping) else one for one in tools.values())
    return all(map(callable, calls))
