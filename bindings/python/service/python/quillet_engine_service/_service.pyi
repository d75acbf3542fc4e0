from collections.abc import Callable, Mapping
from typing import Any

__version__: str

class Work:
    """Background task that runs until it ends, is cancelled, or is no longer referenced."""

    def wait(self) -> list[tuple[Any, ...]] | None:
        """Waits for events and returns all pending ones; None once the task has ended."""
    def poll(self) -> list[tuple[Any, ...]] | None:
        """Returns pending events without waiting; an empty list if there are none."""
    def listen(self, bell: Callable[[], None]) -> None:
        """Sets a callback that another thread calls whenever there are events."""
    def answer(self, call: int, given: Any) -> None:
        """Passes the result of a call."""
    def fail(self, call: int, message: str) -> None:
        """Reports a failed call."""
    def cancel(self) -> None:
        """Cancels the task."""
    def result(self) -> tuple[Any, list[tuple[str, str]]]:
        """Returns the result once the task has ended: the value, and the failed tools with their
        errors.
        """

class Catalogue:
    def __new__(cls, store: str, *, timeout: float | None = None) -> Catalogue: ...
    @property
    def store(self) -> str:
        """The address the store was opened with."""
    def ids(self) -> list[str]:
        """Sorted ids of all prompts, including invalid ones."""
    def check(self) -> list[dict[str, Any]]:
        """Diagnostics of all prompts in the store."""
    def sync(self) -> None:
        """Waits until the catalogue has seen all earlier writes to the store."""
    def labels(self, id: str) -> dict[str, Any]:
        """Labels of a prompt: version numbers, or dicts of weights."""
    def versions(self, id: str) -> list[dict[str, Any]]:
        """The versions of a prompt, newest first: ``number``, ``digest``, ``author``, …"""
    def remove(self, id: str) -> None:
        """Removes a prompt and its labels, but keeps its versions."""
    def close(self) -> None:
        """Stops following the store. All later requests fail."""
    def rendered(
        self,
        id: str,
        variables: Mapping[str, Any] | None,
        named: dict[str, Any] | None,
        which: str | int | None,
        as_messages: bool,
    ) -> tuple[Any, list[tuple[str, str]]]: ...
    def begin_render(
        self,
        id: str,
        variables: Mapping[str, Any] | None,
        named: dict[str, Any] | None,
        which: str | int | None,
        as_messages: bool,
        tools: list[dict[str, Any]],
    ) -> Work: ...
    def write(
        self,
        id: str,
        definition: dict[str, Any],
        labels: list[str],
        author: str | None,
        message: str,
    ) -> int: ...
    def label(self, id: str, label: str, version: int | None) -> dict[str, Any]: ...

def check_query(
    sql: str,
    dialect: str,
    tables: list[tuple[str, list[str]]] | None,
    rows: int | None,
    functions: list[str],
    mode: str,
) -> tuple[str, list[str], bool, str]: ...
def begin_run(
    path: str | None, text: str | None, inputs: Any, options: dict[str, Any]
) -> Work: ...
def before_fork() -> None: ...
def after_fork() -> None: ...
