"""Prompty files: front matter, and a text with role lines.

>>> from quillet_engine.prompty import loads
>>> prompt = loads("---\\nname: ask\\n---\\nsystem:\\nBe brief.\\n\\nuser:\\n{{question}}\\n")
>>> prompt.messages(question="Why?")
[{'role': 'system', 'content': 'Be brief.'}, {'role': 'user', 'content': 'Why?'}]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ._engine import parse_yaml
from ._errors import FileError, VariableError
from ._template import Template

# Formats by prompty's names.
_FORMATS = {"jinja2": "jinja-plain", "mustache": "mustache", "f-string": "f-string"}


@dataclass(frozen=True)
class Prompty:
    """A prompt from a prompty file."""

    name: str
    """Its name, else that of the file."""
    description: str
    """Description of the prompt."""
    model: dict[str, Any]
    """The model and its options, as the file has them."""
    inputs: dict[str, dict[str, Any]]
    """The inputs that the file declares, with what it says of each: ``kind``, ``default`` and so on."""
    sample: dict[str, Any]
    """Values to try it with."""
    template: Template
    """The template."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """The front matter as it is."""

    def render(self, inputs: Mapping[str, Any] | None = None, /, **named: Any) -> str:
        """Renders to text; missing inputs have their defaults."""
        return self.template.render(self._with_defaults(inputs, named))

    def messages(
        self, inputs: Mapping[str, Any] | None = None, /, **named: Any
    ) -> list[dict[str, Any]]:
        """Renders to messages; a value cannot start a message."""
        return self.template.messages(self._with_defaults(inputs, named))

    def _with_defaults(
        self, inputs: Mapping[str, Any] | None, named: dict[str, Any]
    ) -> dict[str, Any]:
        given = {**(inputs or {}), **named}
        for name, declared in self.inputs.items():
            if name in given:
                continue
            if "default" in declared:
                given[name] = declared["default"]
            elif declared.get("required"):
                raise VariableError(
                    f"the input {name} of {self.name} is missing",
                    code="variables.invalid",
                    hint=f"pass {name}, or declare a default for it",
                )
        return given


def load(path: str | Path, encoding: str = "utf-8") -> Prompty:
    """Loads a prompt from a file.

    Raises:
        FileError: the front matter is not valid YAML; the error has line and column.
        TemplateSyntaxError: the text does not compile.
    """
    path = Path(path)
    return loads(path.read_text(encoding), name=path.name, folder=path.parent)


def loads(text: str, name: str = "prompt.prompty", folder: Path | None = None) -> Prompty:
    """Loads a prompt from a text; see :func:`load`."""
    matter, body = _split(text, name)
    template = matter.get("template") or {}
    if isinstance(template, str):
        template = {"type": template}
    kind = template.get("type") or _name_of(template.get("format")) or "jinja2"
    model = matter.get("model") or {}
    return Prompty(
        name=matter.get("name") or name.removesuffix(".prompty"),
        description=matter.get("description") or "",
        model={"id": model} if isinstance(model, str) else model,
        inputs=_inputs(matter.get("inputs", matter.get("inputSchema"))),
        sample=matter.get("sample") or {},
        template=Template(
            body, _FORMATS.get(kind, kind), name=name, messages="role-lines"
        ),
        metadata=matter,
    )


def _name_of(format: Any) -> str | None:
    return format.get("kind") if isinstance(format, dict) else format


def _split(text: str, name: str) -> tuple[dict[str, Any], str]:
    """Splits a text into front matter and body."""
    text = text.removeprefix("\ufeff")
    lines = text.splitlines(keepends=True)
    if not lines or lines[0].strip() != "---":
        return {}, text
    for end, line in enumerate(lines[1:], start=1):
        if line.strip() == "---":
            # Blank lines keep the locations of diagnostics in the front matter correct.
            matter = parse_yaml("\n" + "".join(lines[1:end]), name)
            break
    else:
        raise FileError(
            f"{name}:1:1: the front matter has no end",
            code="file.front_matter",
            line=1,
            column=1,
            hint="end it with a line ---",
            source=name,
        )
    if matter is None:
        matter = {}
    if not isinstance(matter, dict):
        raise FileError(
            f"{name}:2:1: the front matter is not a mapping",
            code="file.front_matter",
            line=2,
            column=1,
            source=name,
        )
    return matter, "".join(lines[end + 1 :]).lstrip("\r\n")


# Keys of an input's definition; any other value is the input's default.
_OF_INPUTS = {"kind", "type", "default", "description", "required", "example", "sample"}


def _inputs(declared: Any) -> dict[str, dict[str, Any]]:
    """Inputs by name, in both notations: a list, or a map from a name to a default."""
    if isinstance(declared, dict) and isinstance(declared.get("properties"), list | dict):
        declared = declared["properties"]
    if isinstance(declared, list):
        named = [one for one in declared if isinstance(one, dict) and "name" in one]
        return {one["name"]: one for one in named}
    if not isinstance(declared, dict):
        return {}
    inputs = {}
    for name, said in declared.items():
        is_declaration = isinstance(said, dict) and said and set(said) <= _OF_INPUTS
        inputs[name] = said if is_declaration else {"default": said}
        if is_declaration and "sample" in said:
            inputs[name].setdefault("default", said["sample"])
    return inputs
