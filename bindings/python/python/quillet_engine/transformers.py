"""Chat templates of transformers, without jinja2.

>>> from quillet_engine.transformers import render_chat_template
>>> template = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"
>>> render_chat_template(template, [{"role": "user", "content": "Hi"}])
'<|user|>Hi'
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from ._template import Template

# Limits of chat templates, which are more trusted than templates of unknown origin.
_TIMEOUT = 10.0


@lru_cache(maxsize=256)
def compile_chat_template(chat_template: str) -> Template:
    """A chat template, compiled once."""
    return Template(chat_template, "jinja", name="chat_template", timeout=_TIMEOUT)


def render_chat_template(
    chat_template: str,
    conversation: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any] | Callable[..., Any]] | None = None,
    documents: Sequence[Mapping[str, Any]] | None = None,
    add_generation_prompt: bool = False,
    **kwargs: Any,
) -> str:
    """Returns the text that ``apply_chat_template(…, tokenize=False)`` produces for a conversation.

    ``tools`` are JSON schemas, or functions that transformers converts to JSON schemas.
    """
    return compile_chat_template(chat_template).render(
        kwargs,
        messages=conversation,
        tools=None if tools is None else [_schema(tool) for tool in tools],
        documents=documents,
        add_generation_prompt=add_generation_prompt,
    )


def apply_chat_template(
    tokenizer: Any,
    conversation: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any] | Callable[..., Any]] | None = None,
    documents: Sequence[Mapping[str, Any]] | None = None,
    chat_template: str | None = None,
    add_generation_prompt: bool = False,
    **kwargs: Any,
) -> str:
    """Renders a conversation with a tokenizer's chat template and special tokens."""
    template = tokenizer.get_chat_template(chat_template, tools)
    given = {**tokenizer.special_tokens_map, **kwargs}
    return render_chat_template(
        template, conversation, tools, documents, add_generation_prompt, **given
    )


def _schema(tool: Mapping[str, Any] | Callable[..., Any]) -> Mapping[str, Any]:
    if isinstance(tool, Mapping):
        return tool
    from transformers.utils import get_json_schema

    return get_json_schema(tool)


class _Compiled:
    """Interface that transformers expects of a compiled template."""

    def __init__(self, chat_template: str) -> None:
        self.template = compile_chat_template(chat_template)

    def render(self, *args: Any, **kwargs: Any) -> str:
        return self.template.render(dict(*args, **kwargs))


@contextmanager
def patched() -> Iterator[None]:
    """Context manager in which transformers renders chat templates with this package.

    It does not support masks of the assistant's tokens (``return_assistant_tokens_mask``).
    """
    from transformers.utils import chat_template_utils

    before = chat_template_utils._compile_jinja_template
    chat_template_utils._compile_jinja_template = _Compiled
    try:
        yield
    finally:
        chat_template_utils._compile_jinja_template = before
