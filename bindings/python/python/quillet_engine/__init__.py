"""Prompt templates in every format, in process.

>>> from quillet_engine import Template
>>> Template("Hello {{ name }}!").render(name="Ada")
'Hello Ada!'
"""

from ._engine import __version__, check, convert, formats
from ._errors import (
    ConvertError,
    FileError,
    LimitError,
    OptionError,
    QuilletError,
    RenderError,
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
    "QuilletError",
    "RenderError",
    "Segment",
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


def __getattr__(name: str) -> object:
    # What few programs need is not loaded with the package.
    if name in ("Environment", "DictLoader", "FileSystemLoader", "FunctionLoader"):
        from . import environment

        return getattr(environment, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
