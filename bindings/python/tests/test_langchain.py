"""LangChain's prompts render as in LangChain."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.prompts import ChatPromptTemplate as OwnChatPromptTemplate
from langchain_core.prompts import MessagesPlaceholder
from langchain_core.prompts import PromptTemplate as OwnPromptTemplate
from langchain_core.runnables import RunnableLambda

from conformance import vectors
from quillet_engine import TemplateSyntaxError
from quillet_engine.langchain import ChatPromptTemplate, PromptTemplate

SAME: list[tuple[str, str, dict[str, Any]]] = [
    ("f-string", "Hello {name}!", {"name": "Ada"}),
    ("f-string", "{{literal}} {n:>5}|{x!r}|{f:.2f}", {"n": 7, "x": "a'b", "f": 2.345}),
    ("f-string", "{d} {l} {t} {none}", {"d": {"a": 1}, "l": [1, "x"], "t": True, "none": None}),
    ("f-string", "{message} {document}", {"message": HumanMessage("Hi"), "document": Document("D")}),
    ("jinja2", "Hello {{ name|upper }}!\n", {"name": "Ada"}),
    ("jinja2", "{% for m in messages %}{{ m.content }};{% endfor %}", {"messages": [HumanMessage("Hi")]}),
    ("jinja2", "{% if x is defined %}{{ x }}{% else %}none{% endif %}", {}),
    ("jinja2", "  {% if 1 %}\n  a\n  {% endif %}\nb", {}),
    ("mustache", "Hello {{name}} {{{name}}} {{& name}}", {"name": "<Ada & 'Bob' \"x\">"}),
    ("mustache", "{{#items}}{{name}},{{/items}}{{^items}}none{{/items}}", {"items": [{"name": "a"}]}),
    ("mustache", "{{#items}}{{.}},{{/items}}{{user.name}}{{missing}}", {"items": [1, 2], "user": {"name": "n"}}),
]


@pytest.mark.parametrize(("format", "template", "given"), SAME)
def test_same_as_langchain(format: str, template: str, given: dict[str, Any]) -> None:
    own = OwnPromptTemplate.from_template(template, template_format=format)
    ours = PromptTemplate.from_template(template, template_format=format)
    # mustache.js writes an apostrophe as an entity; LangChain leaves it unchanged.
    assert ours.format(**given).replace("&#39;", "'") == own.format(**given)
    if format != "mustache":
        assert ours.input_variables == own.input_variables


@pytest.mark.parametrize(("name", "format"), [("f-string", "f-string"), ("jinja2", "jinja2")])
def test_vectors_as_langchain_renders_them(name: str, format: str) -> None:
    different = {}
    count = 0
    for id, vector in vectors(name):
        if "tojson" in vector["template"]:
            # jinja2's own filter escapes for HTML, but prompts are not HTML.
            continue
        given = vector["data"] if isinstance(vector["data"], dict) else {}
        try:
            own = OwnPromptTemplate.from_template(vector["template"], template_format=format)
            wanted = own.format(**given)
        except Exception:
            continue
        count += 1
        try:
            ours = PromptTemplate.from_template(vector["template"], template_format=format)
            got = ours.format(**given)
        except Exception as error:
            got = repr(error)
        if "values cannot be changed in a template" in got:
            # LangChain's sandbox is not the immutable one of transformers.
            continue
        if got != wanted:
            different[id] = (vector["template"], got, wanted)
    assert count >= 50
    assert not different


def test_formats_unknown_to_langchain() -> None:
    prompt = PromptTemplate.from_template("{{#each l}}{{this}};{{/each}}", template_format="handlebars")
    assert prompt.input_variables == ["l"]
    assert prompt.invoke({"l": [1, 2]}).to_string() == "1;2;"
    go = PromptTemplate.from_template("{{range .l}}{{.}};{{end}}", template_format="go")
    assert asyncio.run(go.ainvoke({"l": [1]})).to_string() == "1;"


def test_partial_variables() -> None:
    prompt = PromptTemplate.from_template(
        "{a}{b}{c}", partial_variables={"a": "1", "c": lambda: "3"}
    )
    assert prompt.input_variables == ["b"]
    assert prompt.format(b="2") == "123"
    assert prompt.partial(b="4").format() == "143"


def test_in_a_chain(tmp_path: Path) -> None:
    file = tmp_path / "hello.txt"
    file.write_text("Hello {{ name }}!", "utf-8")
    prompt = PromptTemplate.from_file(file, template_format="jinja2")
    chain = prompt | RunnableLambda(lambda value: value.to_string().upper())
    assert chain.invoke({"name": "Ada"}) == "HELLO ADA!"
    assert chain.batch([{"name": "a"}, {"name": "b"}]) == ["HELLO A!", "HELLO B!"]
    with pytest.raises(TemplateSyntaxError):
        PromptTemplate.from_template("{% if %}", template_format="jinja2")


MESSAGES = [
    ("system", "You are {role}."),
    MessagesPlaceholder("history", optional=True),
    ("placeholder", "{more}"),
    AIMessage("Well {not_a_variable}."),
    "{question}",
    {"role": "assistant", "content": "{question}?"},
]


def test_chat_prompts() -> None:
    given = {
        "role": "a {guide}",
        "question": "Why?",
        "history": [HumanMessage("Hi"), AIMessage("Hello")],
    }
    own = OwnChatPromptTemplate.from_messages(MESSAGES)
    ours = ChatPromptTemplate.from_messages(MESSAGES)
    assert ours.invoke(given).to_messages() == own.invoke(given).to_messages()
    assert sorted(ours.input_variables) == sorted(own.input_variables)
    more = ours + ("human", "{last}")
    assert more.invoke({**given, "last": "End"}).to_messages()[-1].content == "End"


def test_chat_prompts_in_other_formats() -> None:
    prompt = ChatPromptTemplate.from_messages(
        [("system", "You are {{role}}."), ("human", "{{#each q}}{{this}} {{/each}}")],
        template_format="handlebars",
    )
    assert prompt.invoke({"role": "x", "q": ["a", "b"]}).to_messages() == [
        SystemMessage("You are x."),
        HumanMessage("a b "),
    ]
