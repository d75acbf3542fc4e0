"""Prompts of stores with their labels and versions, scripts, and the guard of SQL."""

from quillet_engine import QueryError

from ._service import Catalogue, check_query, run

__all__ = ["Catalogue", "QueryError", "check_query", "run"]
