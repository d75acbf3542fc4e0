"""LangChain's prompt templates, with every format of this package.

>>> from quillet_engine.langchain import ChatPromptTemplate, PromptTemplate
>>> PromptTemplate.from_template("Hello {{name}}!", template_format="handlebars").format(name="Ada")
'Hello Ada!'
>>> prompt = ChatPromptTemplate.from_messages(
...     [("system", "Be brief."), ("placeholder", "{history}"), ("human", "{{ question }}")],
...     template_format="jinja2",
... )
>>> prompt.invoke({"question": "Why?"}).to_messages()[1].content
'Why?'
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from langchain_core.prompts import ChatPromptTemplate as _ChatPromptTemplate
from langchain_core.prompts import StringPromptTemplate
from langchain_core.prompts.chat import (
    AIMessagePromptTemplate,
    ChatMessagePromptTemplate,
    HumanMessagePromptTemplate,
    SystemMessagePromptTemplate,
)
from pydantic import BaseModel, PrivateAttr, model_validator

from ._template import Template

# Formats by LangChain's names, with LangChain's settings.
_FORMATS = {"f-string": "f-string-strict", "jinja2": "jinja-plain", "mustache": "mustache-html"}

_MESSAGES = {
    "human": HumanMessagePromptTemplate,
    "user": HumanMessagePromptTemplate,
    "ai": AIMessagePromptTemplate,
    "assistant": AIMessagePromptTemplate,
    "system": SystemMessagePromptTemplate,
}


class PromptTemplate(StringPromptTemplate):
    """A text prompt with variables, in any format of this package."""

    template: str
    """The template."""
    template_format: str = "f-string"
    """``f-string``, ``jinja2`` and ``mustache`` as LangChain has them, or any other format."""
    input_variables: list[str] = []

    _compiled: Template = PrivateAttr()

    @model_validator(mode="after")
    def _compile(self) -> PromptTemplate:
        format = _FORMATS.get(self.template_format, self.template_format)
        self._compiled = Template(self.template, format)
        if not self.input_variables:
            given = self.partial_variables
            names = [name for name in self._compiled.variables if name not in given]
            object.__setattr__(self, "input_variables", sorted(names))
        return self

    @classmethod
    def from_template(
        cls,
        template: str,
        *,
        template_format: str = "f-string",
        partial_variables: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> PromptTemplate:
        """Creates a prompt from this text.

        Raises:
            TemplateSyntaxError: the template does not compile.
        """
        return cls(
            template=template,
            template_format=template_format,
            partial_variables=partial_variables or {},
            **kwargs,
        )

    @classmethod
    def from_file(
        cls, template_file: str | Path, encoding: str | None = "utf-8", **kwargs: Any
    ) -> PromptTemplate:
        """Creates a prompt from a file."""
        return cls.from_template(Path(template_file).read_text(encoding), **kwargs)

    @property
    def _prompt_type(self) -> str:
        return "quillet"

    def format(self, **kwargs: Any) -> str:
        """Renders to text with these variables."""
        return self._compiled.render(self._plain(kwargs))

    async def aformat(self, **kwargs: Any) -> str:
        """Renders to text with these variables."""
        return self.format(**kwargs)

    def _plain(self, given: dict[str, Any]) -> dict[str, Any]:
        merged = self._merge_partial_and_user_variables(**given)
        # A format string prints a whole value, as `str` does.
        convert = _printed if self.template_format == "f-string" else plain
        # Chat prompts pass the variables of all messages to each message.
        read = merged if self._compiled.dynamic else self._compiled.variables
        return {name: convert(merged[name]) for name in read if name in merged}


def _printed(value: Any) -> Any:
    return value if _is_plain(value) else str(value)


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    if type(value) is dict:
        return all(isinstance(key, str) and _is_plain(item) for key, item in value.items())
    return value is None or isinstance(value, str | int | float)


def plain(value: Any) -> Any:
    """Converts a value for templates: messages, documents and other models become dicts."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, BaseModel):
        return plain(value.model_dump())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return plain(dataclasses.asdict(value))
    return str(value)


class ChatPromptTemplate(_ChatPromptTemplate):
    """A chat prompt with variables, in any format of this package."""

    @classmethod
    def from_messages(
        cls, messages: Sequence[Any], template_format: str = "f-string"
    ) -> ChatPromptTemplate:
        """Creates a prompt from messages as in LangChain: pairs of role and text, strings,
        messages, placeholders and message templates.
        """
        return cls([_message(message, template_format) for message in messages])


def _message(message: Any, template_format: str) -> Any:
    """Converts a message given as text to a template; returns any other message unchanged."""
    if isinstance(message, str):
        message = ("human", message)
    if isinstance(message, Mapping) and set(message) == {"role", "content"}:
        message = (message["role"], message["content"])
    if not isinstance(message, tuple) or len(message) != 2:
        return message
    role, text = message
    if not isinstance(text, str) or not isinstance(role, str) or role == "placeholder":
        return message
    prompt = PromptTemplate.from_template(text, template_format=template_format)
    if (kind := _MESSAGES.get(role)) is None:
        return ChatMessagePromptTemplate(role=role, prompt=prompt)
    return kind(prompt=prompt)
