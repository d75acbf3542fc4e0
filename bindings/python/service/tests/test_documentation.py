"""The examples in the documentation produce the output shown."""

from __future__ import annotations

import doctest
import importlib
from importlib.metadata import requires, version
from pathlib import Path

import pytest

import quillet_engine
import quillet_engine_service

PACKAGE = Path(__file__).parents[1]
PAGES = [PACKAGE / "README.md", PACKAGE.parents[2] / "docs" / "python.md"]
MODULES = ["_catalogue", "_guard", "_script"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages(page: Path) -> None:
    done = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert done.attempted > 5 and not done.failed


@pytest.mark.parametrize("name", [None, *MODULES])
def test_modules(name: str | None) -> None:
    place = "quillet_engine_service" + (f".{name}" if name else "")
    done = doctest.testmod(importlib.import_module(place))
    assert done.attempted and not done.failed


def test_names_are_those_of_the_engine() -> None:
    for name in ("Catalogue", "check_query", "run", "run_async"):
        assert getattr(quillet_engine, name) is getattr(quillet_engine_service, name)
    with pytest.raises(AttributeError):
        quillet_engine.Catalog  # noqa: B018


def test_both_packages_have_one_version() -> None:
    here = quillet_engine.__version__
    assert quillet_engine_service.__version__ == here == version("quillet-engine-service")
    extras = [one for one in requires("quillet-engine") or [] if "quillet-engine-service" in one]
    wanted = {f'quillet-engine-service=={here} ; extra == "{name}"' for name in ("redis", "scripts", "sql")}
    assert {one.replace("'", '"') for one in extras} == wanted
    assert requires("quillet-engine-service") == [f"quillet-engine=={here}"]
