from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypedDict

from ._errors import QuilletError

__version__: str

class Diagnostic(TypedDict):
    code: str
    severity: Literal["error", "warning"]
    message: str
    source: str
    line: int | None
    column: int | None
    hint: str | None

class Template:
    def __new__(
        cls,
        text: str,
        format: str | None = "jinja",
        *,
        name: str | None = None,
        partials: Mapping[str, str] | None = None,
        missing: Literal["default", "strict", "zero", "empty"] | None = None,
        messages: Literal["plain", "role-lines", "elements"] | None = None,
        filters: list[str] | None = None,
        trusted: list[str] | None = None,
        timeout: float | None = None,
        limits: Mapping[str, int] | None = None,
    ) -> Any: ...
    @property
    def variables(self) -> list[str]:
        """Names of the variables that it can read, in the order of first use."""
    @property
    def paths(self) -> list[str]:
        """Paths of the variables that it can read, such as ``user.name``."""
    @property
    def functions(self) -> list[str]:
        """Names of the functions that it calls and does not bring itself."""
    @property
    def dynamic(self) -> bool:
        """Whether it can reach variables or partials whose names are computed as it renders."""
    @property
    def missing_partials(self) -> list[str]:
        """Names of the partials that it calls and was not given."""
    @property
    def name(self) -> str:
        """Its name, as in errors."""
    @property
    def text(self) -> str:
        """Its text."""
    @property
    def format(self) -> str:
        """Its format, by the name that was given."""
    def render(
        self,
        variables: Mapping[str, Any] | None = None,
        /,
        *,
        tools: Mapping[str, Callable[..., Any]] | Any = ...,
        **named: Any,
    ) -> str:
        """The text with these variables, those by name over those of the mapping.

        ``tools`` are functions that the template may call, if it is a dict of callables; anything
        else of that name is a variable, as chat templates have one.
        """
    def messages(
        self,
        variables: Mapping[str, Any] | None = None,
        /,
        *,
        tools: Mapping[str, Callable[..., Any]] | Any = ...,
        **named: Any,
    ) -> list[dict[str, Any]]:
        """The messages in OpenAI's shape; a text without structure is one message of the user."""
    def segments(
        self,
        variables: Mapping[str, Any] | None = None,
        /,
        *,
        tools: Mapping[str, Callable[..., Any]] | Any = ...,
        **named: Any,
    ) -> list[Any]:
        """The text in pieces that say which variable each comes from."""
    def render_batch(
        self, rows: Iterable[Mapping[str, Any]], /
    ) -> tuple[list[str | None], list[QuilletError | None]]:
        """The texts of many rows of variables, and beside them what went wrong.

        A row that fails has None among the texts and its exception among the errors, and ends
        nothing: for columns of Ray, Daft, Spark or pandas.
        """
    def _begin(
        self,
        variables: Mapping[str, Any] | None,
        named: dict[str, Any] | None,
        tools: dict[str, Callable[..., Any]],
        noted: bool = False,
    ) -> Rendering: ...

class Rendering:
    def step(self) -> list[tuple[int, str, tuple[Any, ...], dict[str, Any]]] | None: ...
    def answer(self, call: int, given: Any) -> None: ...
    def fail(self, call: int, message: str) -> None: ...
    def fail_all(self, message: str) -> None: ...
    def time_left(self) -> float: ...
    def text(self) -> str: ...
    def messages(self) -> list[dict[str, Any]]: ...
    def segments(self) -> list[tuple[str, str, str | None]]: ...
    def warn(self) -> None: ...

def check(
    text: str,
    format: str = "jinja",
    *,
    name: str | None = None,
    partials: Mapping[str, str] | None = None,
    missing: Literal["default", "strict", "zero", "empty"] | None = None,
    messages: Literal["plain", "role-lines", "elements"] | None = None,
    filters: list[str] | None = None,
    trusted: list[str] | None = None,
    limits: Mapping[str, int] | None = None,
) -> list[Diagnostic]:
    """Everything that is wrong with a template, as dicts; empty if nothing is."""

def convert(
    text: str, source: str, target: str, *, assume_text: bool = False, strict: bool = False
) -> tuple[str, list[Diagnostic]]:
    """A template in another format, with notes on what is exact for some values only.

    Raises:
        ConvertError: it has no exact counterpart, with every reason and its place.
    """

def formats() -> dict[str, tuple[str, ...]]:
    """The formats that templates can be written in, with other names of each."""

def parse_yaml(text: str, name: str) -> Any: ...
