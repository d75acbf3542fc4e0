from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

class Approved(TypedDict):
    sql: str
    tables: list[str]
    limited: bool

class Catalogue:
    """The prompts of a store, which is followed: what others write there is seen."""

    def __new__(cls, store: str) -> Catalogue:
        """Opens a store: ``dir:PATH``, ``sqlite:FILE``, ``redis://HOST``, ``memory:``."""
    def ids(self) -> list[str]:
        """Ids of all prompts, broken ones included, sorted."""
    def check(self) -> list[dict[str, Any]]:
        """Everything that is wrong with the prompts of the store."""
    def render(
        self,
        id: str,
        variables: Mapping[str, Any] | None = None,
        /,
        *,
        label: str | None = None,
        version: int | None = None,
        **named: Any,
    ) -> str:
        """The text of a prompt; of messages each with its role before it.

        Without a label or a version, the version with the label ``production`` speaks, else what
        stands in the store.
        """
    def messages(
        self,
        id: str,
        variables: Mapping[str, Any] | None = None,
        /,
        *,
        label: str | None = None,
        version: int | None = None,
        **named: Any,
    ) -> list[dict[str, Any]]:
        """The messages of a prompt in OpenAI's shape; a text is one message of the user."""
    def sync(self) -> None:
        """Waits until what was written to the store before is seen here."""

def run(
    path: str,
    inputs: Any = None,
    *,
    model: Callable[..., str],
    seed: int | None = None,
) -> Any:
    """The result of a script, ``.ai.yaml``, with nothing granted.

    ``model`` is given the messages, and as ``model`` the name that the script asks for, if any.
    """

def check_query(
    sql: str,
    dialect: str = "postgresql",
    tables: Mapping[str, Sequence[str]] | None = None,
    *,
    rows: int | None = 1000,
    functions: list[str] | None = None,
) -> Approved:
    """A query that only reads, with its rows bounded, and the tables that it reads.

    Raises:
        QueryError: it does more than read, or reads something else than ``tables``.
    """
