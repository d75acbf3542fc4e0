"""The examples in the documentation produce the output shown."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1]
# `docs/python.md` shows both packages and is tested with the second one.
PAGES = [PACKAGE / "README.md"]
MODULES = ["_template", "environment", "langchain", "prompty", "transformers"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages(page: Path) -> None:
    done = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert done.attempted > 5 and not done.failed


@pytest.mark.parametrize("name", MODULES)
def test_modules(name: str) -> None:
    module = importlib.import_module(f"quillet_engine.{name}")
    done = doctest.testmod(module)
    assert done.attempted and not done.failed
