"""The environment renders the same templates as jinja2's."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import jinja2
import pytest
from jinja2.sandbox import SandboxedEnvironment

from conformance import vectors
from quillet_engine import (
    DictLoader,
    Environment,
    FileSystemLoader,
    FunctionLoader,
    OptionError,
    TemplateNotFound,
    TemplateSyntaxError,
    UndefinedError,
)
from quillet_engine.environment import StrictUndefined

TEMPLATES = {
    "page": "{% extends 'base' %}{% block body %}{{ title|shout }}: {{ super() }}{% endblock %}",
    "base": "[{% block body %}{% include 'parts/' ~ part %}{% endblock %}]\n",
    "parts/a": "a {{ site }}",
    "parts/b": "{% from 'macros' import hello %}{{ hello('b') }}",
    "macros": "{% macro hello(x) %}hello {{ x }} {{ greet() }}{% endmacro %}",
    "broken": "{% if %}",
    "uses_broken": "{% include 'broken' %}",
}


def shout(text: str, end: str = "!") -> str:
    return text.upper() + end


def environments(loader: Any, own_loader: Any, **options: Any) -> list[Any]:
    made = [Environment(loader=loader, **options), jinja2.Environment(loader=own_loader, **options)]
    for environment in made:
        environment.filters["shout"] = shout
        environment.globals.update(site="S", greet=lambda: "g")
    return made


@pytest.mark.parametrize("part", ["a", "b"])
@pytest.mark.parametrize("own", [False, True], ids=["our-loader", "loader-of-jinja2"])
def test_same_as_jinja2(part: str, own: bool) -> None:
    loader = (jinja2.DictLoader if own else DictLoader)(TEMPLATES)
    texts = []
    for environment in environments(loader, jinja2.DictLoader(TEMPLATES)):
        template = environment.get_template("page")
        texts.append(template.render(title="t", part=part))
        texts.append(template.render({"title": "t"}, part=part))
        assert template.name == "page"
    assert texts[0].startswith("[T!: ") and len(set(texts)) == 1


@pytest.mark.parametrize("options", [{}, {"trim_blocks": True, "lstrip_blocks": True}])
def test_settings_of_white_space(options: dict[str, bool]) -> None:
    text = "a\n  {% if 1 %}\n  b\n  {% endif %}\n {# c #}\nd\n"
    ours, own = environments(None, None, **options)
    assert ours.from_string(text).render() == own.from_string(text).render()


def test_vectors_as_jinja2_renders_them() -> None:
    count = 0
    for id, vector in vectors("jinja2"):
        # jinja2's own `tojson` escapes for HTML, but prompts are not HTML.
        if "expected" not in vector or "tojson" in vector["template"]:
            continue
        given = vector["data"] if isinstance(vector["data"], dict) else {}
        try:
            own = SandboxedEnvironment().from_string(vector["template"]).render(given)
        except jinja2.TemplateError:
            # Features of the transformers environment only.
            continue
        assert Environment().from_string(vector["template"]).render(given) == own, id
        count += 1
    assert count > 200


def test_functions_among_the_variables() -> None:
    ours, own = environments(None, None)
    text = "{{ f(x)|shout(end='?') }}{{ g(1) }}"
    given = {"x": "a", "f": lambda x: x * 2, "g": str}
    assert ours.from_string(text).render(given) == own.from_string(text).render(given) == "AA?1"


def test_asynchronous_functions() -> None:
    async def later(text: str) -> str:
        await asyncio.sleep(0)
        return text + "!"

    environment = Environment()
    environment.filters["later"] = later
    template = environment.from_string("{{ x|later }}{{ f('y') }}")
    assert asyncio.run(template.render_async(x="x", f=later)) == "x!y!"


def test_undefined() -> None:
    assert Environment().from_string("[{{ x }}]").render() == "[]"
    for strict in (StrictUndefined, jinja2.StrictUndefined):
        with pytest.raises(UndefinedError):
            Environment(undefined=strict).from_string("{{ x }}").render()
    for options in ({"undefined": jinja2.ChainableUndefined}, {"autoescape": True}, {"trim_blocks": True}):
        with pytest.raises(OptionError) as raised:
            Environment(**options)
        assert raised.value.hint


def test_invalid_template_affects_only_its_callers() -> None:
    ours, _ = environments(DictLoader(TEMPLATES), None)
    assert ours.get_template("page").render(title="t", part="a") == "[T!: a S]"
    for name in ("broken", "uses_broken"):
        with pytest.raises(TemplateSyntaxError) as raised:
            ours.get_template(name)
        assert (raised.value.source, raised.value.line, raised.value.column) == ("broken", 1, 7)


def test_missing_templates() -> None:
    ours, _ = environments(DictLoader(TEMPLATES), None)
    with pytest.raises(TemplateNotFound, match="'nope'"):
        ours.get_template("nope")
    with pytest.raises(LookupError):
        Environment().get_template("x")
    missing = ours.from_string("a{% include 'nope' ignore missing %}b")
    assert missing.render() == "ab"


def test_files(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "page.j2").write_text("{% include 'parts/a.j2' %}")
    part = tmp_path / "parts" / "a.j2"
    part.write_text("one")
    environment = Environment(loader=FileSystemLoader(tmp_path))
    assert environment.list_templates() == ["page.j2", "parts/a.j2"]
    template = environment.get_template("page.j2")
    assert template.render() == "one"
    assert environment.get_template("page.j2") is template
    part.write_text("two")
    os.utime(part, ns=(1, 1))
    assert environment.get_template("page.j2").render() == "two"
    for outside in ("../page.j2", "/etc/passwd", "parts/../page.j2", "", "parts\\a.j2"):
        with pytest.raises(TemplateNotFound):
            environment.get_template(outside)


def test_functions_that_load() -> None:
    texts = {"a": "[{% include 'b' %}]", "b": "b"}
    environment = Environment(loader=FunctionLoader(texts.get))
    assert environment.get_template("a").render() == "[b]"
    texts["b"] = "c"
    assert environment.get_template("a").render() == "[c]"


def test_other_formats() -> None:
    loader = DictLoader({"page": "{{> part}}!", "part": "Hi {{name}}"})
    environment = Environment(loader=loader, format="handlebars")
    assert environment.get_template("page").render(name="Ada") == "Hi Ada!"
