"""Chat templates of real models render as in transformers."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from jinja2 import TemplateError as JinjaError
from transformers.utils.chat_template_utils import render_jinja_template

from quillet_engine import QuilletError
from quillet_engine.transformers import patched, render_chat_template

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "The weather of a city.",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": "The city, <any>"},
                    "days": {"type": ["integer", "null"], "enum": [1, 3, 7]},
                },
                "required": ["city"],
            },
            "return": {"type": "string"},
        },
    }
]

CALL = {
    "role": "assistant",
    "content": "",
    "tool_calls": [
        {
            "type": "function",
            "id": "abcdefghi",
            "function": {"name": "weather", "arguments": {"city": "Oslo", "days": 3}},
        }
    ],
}

CONVERSATIONS: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "one": ([{"role": "user", "content": "Hi"}], {}),
    "generate": ([{"role": "user", "content": " Hi \n"}], {"add_generation_prompt": True}),
    "system": (
        [
            {"role": "system", "content": "Be brief. {{ x }} <|im_end|>"},
            {"role": "user", "content": "Why is æ ≠ 'æ'? \U0001f600"},
            {"role": "assistant", "content": "Because."},
            {"role": "user", "content": "And?"},
        ],
        {"add_generation_prompt": True, "bos_token": "<s>", "eos_token": "</s>"},
    ),
    "tools": (
        [
            {"role": "system", "content": "Use tools."},
            {"role": "user", "content": "Weather in Oslo?"},
            CALL,
            {"role": "tool", "name": "weather", "tool_call_id": "abcdefghi", "content": "3 °C"},
            {"role": "assistant", "content": "It is 3 °C."},
            {"role": "user", "content": "Thanks"},
        ],
        {"tools": TOOLS, "add_generation_prompt": True, "bos_token": "<s>"},
    ),
    "thinking": (
        [
            {"role": "user", "content": "2 + 2?"},
            {"role": "assistant", "content": "<think>\nEasy.\n</think>\n\n4"},
            {"role": "user", "content": "3 + 3?"},
            {"role": "assistant", "content": "6", "reasoning_content": "Easy, too."},
        ],
        {"enable_thinking": False, "bos_token": "<s>", "eos_token": "</s>"},
    ),
    "parts": (
        [
            {
                "role": "user",
                "content": [{"type": "image"}, {"type": "text", "text": "What is this?"}],
            }
        ],
        {"add_generation_prompt": True, "bos_token": "<bos>"},
    ),
}


def templates() -> dict[str, str]:
    """Published chat templates from the package `trl`."""
    found = importlib.util.find_spec("trl")
    assert found and found.origin, "pip install --no-deps trl"
    folder = Path(found.origin).parent / "chat_templates"
    return {file.stem: file.read_text() for file in sorted(folder.glob("*.jinja"))}


TEMPLATES = templates()


def own_rendering(template: str, talk: list[dict[str, Any]], given: dict[str, Any]) -> str | None:
    """Result of transformers with jinja2; None if the template rejects the conversation."""
    try:
        rendered, _ = render_jinja_template([talk], chat_template=template, **given)
    except (JinjaError, TypeError, ValueError, AttributeError):
        return None
    return rendered[0]


def test_there_are_enough() -> None:
    assert len(TEMPLATES) >= 25


@pytest.mark.parametrize("name", TEMPLATES)
def test_same_as_transformers(name: str) -> None:
    template = TEMPLATES[name]
    rendered = 0
    for kind, (talk, given) in CONVERSATIONS.items():
        wanted = own_rendering(template, talk, given)
        with patched():
            try:
                got, _ = render_jinja_template([talk], chat_template=template, **given)
                got = got[0]
            except QuilletError as error:
                assert wanted is None, f"{kind}: {error}"
                continue
        assert got == wanted, kind
        rendered += 1
    assert rendered, "no conversation fits this template"


@pytest.mark.parametrize("name", ["qwen3", "llama3_1", "gemma3", "deepseekv3", "gptoss"])
def test_without_transformers_in_between(name: str) -> None:
    for kind in ("one", "generate", "system"):
        talk, given = CONVERSATIONS[kind]
        wanted = own_rendering(TEMPLATES[name], talk, given)
        assert render_chat_template(TEMPLATES[name], talk, **given) == wanted, kind


def test_functions_become_schemas() -> None:
    def weather(city: str) -> str:
        """
        The weather of a city.

        Args:
            city: The city.
        """
        return city

    talk = [{"role": "user", "content": "Hi"}]
    template = TEMPLATES["qwen3"]
    wanted = own_rendering(template, talk, {"tools": [weather]})
    assert wanted and "The weather of a city." in wanted
    assert render_chat_template(template, talk, tools=[weather]) == wanted


def test_a_final_message_is_continued() -> None:
    talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello, my"}]
    given = {"chat_template": TEMPLATES["qwen2_5"], "continue_final_message": True}
    wanted, _ = render_jinja_template([talk], **given)
    with patched():
        got, _ = render_jinja_template([talk], **given)
    assert got == wanted
