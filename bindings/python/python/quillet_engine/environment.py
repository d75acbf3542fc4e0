"""Templates that include each other by name, with the same interface as jinja2.

>>> from quillet_engine import DictLoader, Environment
>>> environment = Environment(loader=DictLoader({"hello": "Hello {{ name|shout }}!"}))
>>> environment.filters["shout"] = str.upper
>>> environment.get_template("hello").render(name="Ada")
'Hello ADA!'
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from ._errors import OptionError, TemplateError, TemplateNotFound
from ._template import Template

# A source, its file, and a function that reports whether it is current, as from jinja2's loaders.
Source = tuple[str, str | None, Callable[[], bool] | None]


class Loader(Protocol):
    """Base class of loaders, which find templates. Loaders of jinja2 also work."""

    def get_source(self, environment: Any, template: str) -> Source:
        """Returns the text of a template, its file, and a function that reports whether it is
        current.

        Raises:
            LookupError: the template does not exist.
        """


class DictLoader:
    """Loads templates from a dict; changes to the dict take effect."""

    def __init__(self, mapping: Mapping[str, str]) -> None:
        self.mapping = mapping

    def get_source(self, environment: Any, template: str) -> Source:
        text = self.mapping.get(template)
        if text is None:
            raise TemplateNotFound(f"unknown template {template!r}", code="template.missing")
        return text, None, lambda: self.mapping.get(template) == text

    def list_templates(self) -> list[str]:
        """Names of all templates."""
        return sorted(self.mapping)


class FunctionLoader:
    """Loads templates from a function that returns the text for a name, or None."""

    def __init__(self, load: Callable[[str], str | None]) -> None:
        self.load = load

    def get_source(self, environment: Any, template: str) -> Source:
        text = self.load(template)
        if text is None:
            raise TemplateNotFound(f"unknown template {template!r}", code="template.missing")
        return text, None, lambda: self.load(template) == text


class FileSystemLoader:
    """Loads templates from one or more folders; the first folder that has the file is used."""

    def __init__(
        self, searchpath: str | Path | Iterable[str | Path], encoding: str = "utf-8"
    ) -> None:
        paths = [searchpath] if isinstance(searchpath, str | Path) else searchpath
        self.searchpath = [Path(path) for path in paths]
        self.encoding = encoding

    def get_source(self, environment: Any, template: str) -> Source:
        for folder in self.searchpath:
            file = self._file(folder, template)
            if file is None or not file.is_file():
                continue
            text = file.read_text(self.encoding)
            changed = file.stat().st_mtime_ns
            return text, str(file), lambda: _changed(file) == changed
        places = ", ".join(str(path) for path in self.searchpath)
        raise TemplateNotFound(
            f"unknown template {template!r} in {places}", code="template.missing"
        )

    def list_templates(self) -> list[str]:
        """Names of all templates: paths from a folder, with slashes."""
        found = set()
        for folder in self.searchpath:
            files = (file for file in folder.rglob("*") if file.is_file())
            found.update(file.relative_to(folder).as_posix() for file in files)
        return sorted(found)

    @staticmethod
    def _file(folder: Path, template: str) -> Path | None:
        """Returns the file for a name, unless the name leads out of the folder."""
        parts = template.split("/")
        if any(part in ("", ".", "..") or "\\" in part for part in parts):
            return None
        return folder.joinpath(*parts)


def _changed(file: Path) -> int | None:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return None


class Undefined:
    """Missing variables print nothing, as in jinja2."""


class StrictUndefined(Undefined):
    """Missing variables are errors."""


class Environment:
    """Templates by name, with custom filters and globals.

    Unlike jinja2's, it does not support custom tests, extensions or autoescaping. Functions receive
    plain values, and a template is compiled together with all templates it includes.

    Args:
        loader: finds the templates.
        trim_blocks, lstrip_blocks: both on, as in transformers, or both off.
        undefined: ``Undefined`` or ``StrictUndefined``, of this module or of jinja2.
        format: another format, if its templates can include each other by name.
        options: options of :class:`quillet_engine.Template`, such as ``timeout``.
    """

    def __init__(
        self,
        loader: Loader | None = None,
        *,
        trim_blocks: bool = False,
        lstrip_blocks: bool = False,
        undefined: type = Undefined,
        autoescape: bool = False,
        format: str | None = None,
        **options: Any,
    ) -> None:
        if trim_blocks != lstrip_blocks:
            raise OptionError(
                "trim_blocks and lstrip_blocks differ",
                code="option.value",
                hint="set both, as transformers does, or neither",
            )
        if autoescape:
            raise OptionError(
                "autoescape is not supported: prompts are not HTML",
                code="option.value",
                hint="use the filter `escape` for values that need it",
            )
        self.loader = loader
        self.filters: dict[str, Callable[..., Any]] = {}
        self.globals: dict[str, Any] = {}
        self.format = format or ("jinja" if trim_blocks else "jinja-plain")
        self._options = {"missing": _missing(undefined), **options}
        self._kept: dict[str, tuple[EnvironmentTemplate, list[Callable[[], bool]], list[str]]] = {}

    def from_string(self, source: str) -> EnvironmentTemplate:
        """Compiles a template from this text."""
        return self._made("template", source, [])

    def get_template(self, name: str) -> EnvironmentTemplate:
        """Returns the current template of this name.

        Raises:
            TemplateNotFound: the template does not exist.
            TemplateSyntaxError: the template, or one that it includes, does not compile.
        """
        if (kept := self._kept.get(name)) is not None:
            template, current, filters = kept
            if filters == list(self.filters) and all(is_current() for is_current in current):
                return template
        source = self._source(name)
        if source is None:
            raise TemplateNotFound(
                f"unknown template {name!r}",
                code="template.missing",
                hint=None if self.loader else "give the environment a loader",
            )
        text, _, is_current = source
        current = [is_current] if is_current else []
        template = self._made(name, text, current)
        self._kept[name] = (template, current, list(self.filters))
        return template

    def list_templates(self) -> list[str]:
        """Names of all templates of the loader, if it can list them."""
        listed = getattr(self.loader, "list_templates", None)
        return listed() if listed else []

    def _made(
        self, name: str, text: str, current: list[Callable[[], bool]]
    ) -> EnvironmentTemplate:
        """Compiles a template with the templates it includes."""
        partials: dict[str, str] = {}
        looked_for: set[str] = {name}
        while True:
            template = self._compiled(name, text, partials)
            called = [other for other in template.missing_partials if other not in looked_for]
            # A computed name may refer to any template, so an invalid template counts as missing.
            others = [other for other in self.list_templates() if other not in looked_for]
            may_be_any = not called and template.dynamic
            found = False
            for other in others if may_be_any else called:
                looked_for.add(other)
                source = self._source(other)
                if source is None or may_be_any and self._is_broken(source[0]):
                    continue
                partials[other] = source[0]
                current.extend([source[2]] if source[2] else [])
                found = True
            if not found:
                return EnvironmentTemplate(self, template)

    def _compiled(self, name: str, text: str, partials: dict[str, str]) -> Template:
        return Template(
            text,
            self.format,
            name=name,
            partials=partials,
            filters=list(self.filters),
            **self._options,
        )

    def _is_broken(self, text: str) -> bool:
        try:
            self._compiled("template", text, {})
        except TemplateError:
            return True
        return False

    def _source(self, name: str) -> Source | None:
        if self.loader is None:
            return None
        try:
            return self.loader.get_source(self, name)
        except LookupError:
            # jinja2's TemplateNotFound is also a LookupError.
            return None


def _missing(undefined: type) -> str:
    match undefined.__name__:
        case "Undefined":
            return "default"
        case "StrictUndefined":
            return "strict"
        case other:
            raise OptionError(
                f"invalid value of undefined: {other}",
                code="option.value",
                hint="give Undefined or StrictUndefined",
            )


class EnvironmentTemplate:
    """A template of an environment."""

    def __init__(self, environment: Environment, template: Template) -> None:
        self.environment = environment
        self.template = template

    @property
    def name(self) -> str:
        """The template's name."""
        return self.template.name

    def render(self, *args: Any, **kwargs: Any) -> str:
        """Renders to text; variables are passed as to ``dict``. The template can call functions
        among them.
        """
        variables, functions = self._split(dict(*args, **kwargs))
        return self.template.render(variables, **functions)

    async def render_async(self, *args: Any, **kwargs: Any) -> str:
        """Like ``render``, with functions that may be asynchronous and run concurrently."""
        variables, functions = self._split(dict(*args, **kwargs))
        return await self.template.render_async(variables, **functions)

    def _split(self, given: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Separates variables from functions; returns the functions as a keyword argument, if any.
        """
        variables = {**self.environment.globals, **given}
        functions: dict[str, Any] = dict(self.environment.filters)
        for name in [name for name, value in variables.items() if callable(value)]:
            functions[name] = variables.pop(name)
        return variables, {"tools": functions} if functions else {}
