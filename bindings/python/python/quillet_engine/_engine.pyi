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
        """Names of the variables that the template can read, in order of first use."""
    @property
    def paths(self) -> list[str]:
        """Paths of the variables that the template can read, such as ``user.name``."""
    @property
    def functions(self) -> list[str]:
        """Names of the external functions that the template can call."""
    @property
    def dynamic(self) -> bool:
        """Whether the template can access variables or partials by names computed during rendering.
        """
    @property
    def missing_partials(self) -> list[str]:
        """Names of partials that the template includes but that are missing."""
    @property
    def name(self) -> str:
        """The template's name in errors."""
    @property
    def text(self) -> str:
        """The template's text."""
    @property
    def format(self) -> str:
        """The template's format, as passed."""
    def render(
        self,
        variables: Mapping[str, Any] | None = None,
        /,
        *,
        tools: Mapping[str, Callable[..., Any]] | Any = ...,
        **named: Any,
    ) -> str:
        """Renders to text. Keyword arguments override variables of the mapping.

        If ``tools`` is a dict of callables, the template may call them. Any other value named
        ``tools`` is a variable, because chat templates use that name.
        """
    def messages(
        self,
        variables: Mapping[str, Any] | None = None,
        /,
        *,
        tools: Mapping[str, Callable[..., Any]] | Any = ...,
        **named: Any,
    ) -> list[dict[str, Any]]:
        """Renders to messages in OpenAI's format. A text without messages becomes one user message.
        """
    def segments(
        self,
        variables: Mapping[str, Any] | None = None,
        /,
        *,
        tools: Mapping[str, Callable[..., Any]] | Any = ...,
        **named: Any,
    ) -> list[Any]:
        """Renders to segments with the variable that each comes from."""
    def render_batch(
        self, rows: Iterable[Mapping[str, Any]], /
    ) -> tuple[list[str | None], list[QuilletError | None]]:
        """Renders many rows of variables. Returns the texts and the errors.

        A failed row has None in the texts and its exception in the errors; the other rows are still
        rendered. Use it for columns of Ray, Daft, Spark or pandas.
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
    """Diagnostics of a template, as dicts; empty if it is valid."""

def convert(
    text: str, source: str, target: str, *, assume_text: bool = False, strict: bool = False
) -> tuple[str, list[Diagnostic]]:
    """Converts a template to another format, with notes about parts that are exact only for some
    values.

    Raises:
        ConvertError: a part has no exact counterpart; the error has every reason and its location.
    """

def formats() -> dict[str, tuple[str, ...]]:
    """The template formats with their aliases."""

def parse_yaml(text: str, name: str) -> Any: ...
