"""Templates that call each other by name, under the names that jinja2 has.

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

# A source, its file, and whether it is still what it was; as jinja2's loaders give it.
Source = tuple[str, str | None, Callable[[], bool] | None]


class Loader(Protocol):
    """Where templates are found. Loaders of jinja2 are such, too."""

    def get_source(self, environment: Any, template: str) -> Source:
        """The text of a template, its file, and a function that says whether it is current.

        Raises:
            LookupError: there is no such template.
        """


class DictLoader:
    """Templates of a dict, whose changes are seen."""

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
    """Templates of a function that gives the text of a name, or None."""

    def __init__(self, load: Callable[[str], str | None]) -> None:
        self.load = load

    def get_source(self, environment: Any, template: str) -> Source:
        text = self.load(template)
        if text is None:
            raise TemplateNotFound(f"unknown template {template!r}", code="template.missing")
        return text, None, lambda: self.load(template) == text


class FileSystemLoader:
    """Templates of one folder or several, of which the first that has a file counts."""

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
        """The file of a name, unless the name leads out of the folder."""
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
    """Templates by name, with filters and globals of one's own.

    Differs from jinja2's in that there are no tests, extensions or autoescaping of one's own, that
    functions get plain values, and that a template is compiled with all that it includes.

    Args:
        loader: where templates are found.
        trim_blocks, lstrip_blocks: both, as transformers has them, or neither.
        undefined: ``Undefined`` or ``StrictUndefined``, of this module or of jinja2.
        format: another format, whose templates call each other by name as well.
        options: those of :class:`quillet_engine.Template`, such as ``timeout``.
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
                "there is no autoescape: prompts are no HTML",
                code="option.value",
                hint="use the filter `escape` where a value needs it",
            )
        self.loader = loader
        self.filters: dict[str, Callable[..., Any]] = {}
        self.globals: dict[str, Any] = {}
        self.format = format or ("jinja" if trim_blocks else "jinja-plain")
        self._options = {"missing": _missing(undefined), **options}
        self._kept: dict[str, tuple[EnvironmentTemplate, list[Callable[[], bool]], list[str]]] = {}

    def from_string(self, source: str) -> EnvironmentTemplate:
        """A template of this text."""
        return self._made("template", source, [])

    def get_template(self, name: str) -> EnvironmentTemplate:
        """The template of this name, as it is now.

        Raises:
            TemplateNotFound: there is none.
            TemplateSyntaxError: it, or one that it calls, does not compile.
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
        """Names of all templates of the loader, where it can list them."""
        listed = getattr(self.loader, "list_templates", None)
        return listed() if listed else []

    def _made(
        self, name: str, text: str, current: list[Callable[[], bool]]
    ) -> EnvironmentTemplate:
        """Compiles a template with those that it calls."""
        partials: dict[str, str] = {}
        looked_for: set[str] = {name}
        while True:
            template = self._compiled(name, text, partials)
            called = [other for other in template.missing_partials if other not in looked_for]
            # A name that is computed may be any; one that is broken is then as if it were not there.
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
            # jinja2's TemplateNotFound is one as well.
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
        """Its name."""
        return self.template.name

    def render(self, *args: Any, **kwargs: Any) -> str:
        """The text with these variables, given as for ``dict``. Functions among them can be called."""
        variables, functions = self._split(dict(*args, **kwargs))
        return self.template.render(variables, **functions)

    async def render_async(self, *args: Any, **kwargs: Any) -> str:
        """The same, with functions that may be asynchronous and run side by side."""
        variables, functions = self._split(dict(*args, **kwargs))
        return await self.template.render_async(variables, **functions)

    def _split(self, given: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Variables, and the keyword argument that has the functions, if there are any."""
        variables = {**self.environment.globals, **given}
        functions: dict[str, Any] = dict(self.environment.filters)
        for name in [name for name, value in variables.items() if callable(value)]:
            functions[name] = variables.pop(name)
        return variables, {"tools": functions} if functions else {}
