from collections.abc import Callable, Mapping
from typing import Any

__version__: str

class Work:
    """Background task that runs until it ends, is cancelled, or is no longer referenced."""

    def wait(self) -> list[tuple[Any, ...]] | None:
        """Waits for news, and gives all there are; None once it has ended."""
    def poll(self) -> list[tuple[Any, ...]] | None:
        """The same without waiting; an empty list if there is none."""
    def listen(self, bell: Callable[[], None]) -> None:
        """Has a function called from another thread whenever there is news."""
    def answer(self, call: int, given: Any) -> None:
        """Gives what a call gave."""
    def fail(self, call: int, message: str) -> None:
        """Says that a call failed."""
    def cancel(self) -> None:
        """Gives it up."""
    def result(self) -> tuple[Any, list[tuple[str, str]]]:
        """Returns its result once it has ended: the value, and the failed tools with errors."""

class Catalogue:
    def __new__(cls, store: str, *, timeout: float | None = None) -> Catalogue: ...
    @property
    def store(self) -> str:
        """The address that it was opened with."""
    def ids(self) -> list[str]:
        """Ids of all prompts, broken ones included, in order."""
    def check(self) -> list[dict[str, Any]]:
        """Everything that is wrong with the prompts of the store."""
    def sync(self) -> None:
        """Waits until all that was written to the store before is seen here."""
    def labels(self, id: str) -> dict[str, Any]:
        """The labels of a prompt: the numbers of their versions, or dicts of shares."""
    def versions(self, id: str) -> list[dict[str, Any]]:
        """The versions of a prompt, newest first: ``number``, ``digest``, ``author``, …"""
    def remove(self, id: str) -> None:
        """Removes a prompt with its labels; its versions stay."""
    def close(self) -> None:
        """Stops following the store. Whatever is asked for afterwards is an error."""
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
