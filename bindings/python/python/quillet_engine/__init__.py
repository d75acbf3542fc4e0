"""Prompt templates in every format, in process.

>>> from quillet_engine import Template
>>> Template("Hello {{ name }}!").render(name="Ada")
'Hello Ada!'
"""

from typing import TYPE_CHECKING

from ._engine import __version__, check, convert, formats
from ._errors import (
    ConvertError,
    FileError,
    LimitError,
    OptionError,
    QueryError,
    QuilletError,
    RenderError,
    ScriptError,
    StoreError,
    TemplateError,
    TemplateNotFound,
    TemplateSyntaxError,
    ToolWarning,
    UndefinedError,
    VariableError,
)
from ._template import Segment, Template

__all__ = [
    "ConvertError",
    "DictLoader",
    "Environment",
    "FileError",
    "FileSystemLoader",
    "FunctionLoader",
    "LimitError",
    "OptionError",
    "QueryError",
    "QuilletError",
    "RenderError",
    "ScriptError",
    "Segment",
    "StoreError",
    "Template",
    "TemplateError",
    "TemplateNotFound",
    "TemplateSyntaxError",
    "ToolWarning",
    "UndefinedError",
    "VariableError",
    "__version__",
    "check",
    "convert",
    "formats",
]

if TYPE_CHECKING:
    from quillet_engine_service import Catalogue, check_query, run, run_async

    from .environment import DictLoader, Environment, FileSystemLoader, FunctionLoader

# Names from another package, and the extra that installs it.
_SERVICE = {
    "Catalogue": "redis",
    "check_query": "sql",
    "run": "scripts",
    "run_async": "scripts",
}


def __getattr__(name: str) -> object:
    # Names that few programs need are loaded on first use.
    if name in ("Environment", "DictLoader", "FileSystemLoader", "FunctionLoader"):
        from . import environment

        return getattr(environment, name)
    if name in _SERVICE:
        return getattr(_service(name), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _service(name: str) -> object:
    try:
        import quillet_engine_service
    except ModuleNotFoundError as error:
        if error.name != "quillet_engine_service":
            raise
        command = f'pip install "quillet-engine[{_SERVICE[name]}]"'
        raise ImportError(
            f"quillet_engine.{name} comes with the package quillet-engine-service: {command}",
            name=error.name,
        ) from None
    return quillet_engine_service
