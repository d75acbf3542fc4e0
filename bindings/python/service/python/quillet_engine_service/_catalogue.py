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
    """The prompts of a store, which is followed: what others write there is seen.

    >>> catalogue = Catalogue("memory:")
    >>> catalogue.put("greet.hello", "Hello {{ name }}!", format="jinja")
    1
    >>> catalogue.render("greet.hello", name="Ada")
    'Hello Ada!'

    It may be shared between threads, and closes at the end of a ``with``, or when nobody holds it
    any more. A forked process opens the store for itself.

    Args:
        store: ``dir:PATH``, ``sqlite:FILE``, ``redis://HOST``, ``memory:`` and whatever else
            ``quillet serve --store`` takes. Other settings come from the environment, under the
            names that ``quillet serve`` has for them.
        timeout: seconds that one render may take.

    Raises:
        OptionError: there is no such store. A server that does not answer yet is no error here.
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
        """The text of a prompt; of messages each with its role before it.

        Args:
            label: the version that a label points at.
            version: the version of a number. Without either the label ``production`` speaks, and
                else what stands in the store.
            tools: functions that the prompt may call, before those of the store. Anything else
                under that name is a variable.
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
        """The messages of a prompt in OpenAI's shape; a text is one message of the user."""
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
        """The text, with functions that may be asynchronous: they run side by side."""
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
        """The messages, with functions that may be asynchronous."""
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
        """Writes a prompt: the text of a template, or a whole definition as a dict.

        Gives the number of its version, which is a new one if anything is different. ``labels``
        are moved to it at the same moment.

        Raises:
            TemplateSyntaxError: it is broken, and was not written.
            StoreError: the store does not let it be written.
        """
        definition = dict(prompt) if isinstance(prompt, Mapping) else None
        if definition is None:
            definition = {"prompt": prompt, "format": format}
        return super().write(id, definition, list(labels), author, message)

    def set_label(self, id: str, label: str, version: int | None) -> dict[str, Any]:
        """Moves a label to a version, or away with None; gives all labels of the prompt."""
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
            "a label and a version cannot be combined", code="option.value", hint="give one of them"
        )
    return version if label is None else label


def _are_tools(tools: Any) -> bool:
    if not isinstance(tools, Mapping) or not tools:
        return False
    calls = (one.get("call") if isinstance(one, Mapping) else one for one in tools.values())
    return all(map(callable, calls))
