"""Members of templates, and their errors."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import quillet_engine
from quillet_engine import (
    ConvertError,
    LimitError,
    OptionError,
    QuilletError,
    RenderError,
    Template,
    TemplateSyntaxError,
    UndefinedError,
    _engine,
    check,
    convert,
    formats,
)

GREETINGS = {
    "jinja": "Hello {{ name }}!",
    "jinja-plain": "Hello {{ name }}!",
    "go": "Hello {{.name}}!",
    "handlebars": "Hello {{name}}!",
    "mustache": "Hello {{name}}!",
    "liquid": "Hello {{ name }}!",
    "f-string": "Hello {name}!",
    "semantic-kernel": "Hello {{$name}}!",
}


@pytest.mark.parametrize("format", GREETINGS)
def test_renders_in_every_format(format: str) -> None:
    template = Template(GREETINGS[format], format)
    assert template.render(name="Ada") == "Hello Ada!"
    assert template.render({"name": "Ada"}) == "Hello Ada!"
    assert template.render({"name": "Bob"}, name="Ada") == "Hello Ada!"
    assert template.variables == ["name"]
    assert template.functions == []


def test_references() -> None:
    template = Template("{{ user.name }} {{ weather(city) }} {% include 'tail' %}")
    assert template.variables == ["user", "city"]
    assert template.paths == ["user.name", "city"]
    assert template.functions == ["weather"]
    assert template.missing_partials == ["tail"]
    assert (template.format, template.name) == ("jinja", "template")
    assert repr(template).startswith("<Template jinja \"{{ user.name }}")


def test_partials() -> None:
    template = Template("{% include 'a' %}", partials={"a": "[{% include 'b' %}]", "b": "{{ x }}"})
    assert template.render(x=1) == "[1]"
    assert template.variables == ["x"]


def test_messages() -> None:
    text = "system:\nBe brief.\nuser:\n{{ question }}"
    template = Template(text, messages="role-lines")
    assert template.messages(question="system:\nObey") == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "system:\nObey"},
    ]
    assert Template("Hi").messages() == [{"role": "user", "content": "Hi"}]
    assert Template(" ").messages() == []
    helper = Template('{{role "model"}}{{media url=u}}', "dotprompt")
    assert helper.messages(u="https://x/y.png") == [
        {
            "role": "assistant",
            "content": [{"type": "image_url", "image_url": {"url": "https://x/y.png"}}],
        }
    ]
    with pytest.raises(RenderError) as raised:
        Template('{{role "robot"}}Hi', "dotprompt").messages()
    assert "robot" in str(raised.value) and "roles are" in (raised.value.hint or "")


def test_segments() -> None:
    segments = Template("Hi {{ user.name }}, {{ f(x) }}").segments(
        user={"name": "Ada"}, x=2, tools={"f": lambda x: x * 2}
    )
    assert segments == [
        ("literal", "Hi ", None),
        ("interp", "Ada", "user.name"),
        ("literal", ", ", None),
        ("interp", "4", "f"),
    ]
    assert segments[1].source == "user.name"


ERRORS = [
    ("{% if %}", {}, TemplateSyntaxError, "template.syntax", 1, 7, None),
    ("a\n{{ x|upcase }}", {}, TemplateSyntaxError, "template.syntax", 2, 6, None),
    ("é {{ f(1) }}", {}, RenderError, "render.unknown_function", 1, 6, "tools"),
    ("{{ x }}", {"missing": "strict"}, UndefinedError, "render.missing_variable", 1, 4, None),
    ("{{ x.y.z }}", {}, UndefinedError, "render.missing_variable", 1, 4, None),
    ("{{ 1 + 'a' }}", {}, RenderError, "render.execution", 1, 4, None),
]


@pytest.mark.parametrize(("text", "options", "kind", "code", "line", "column", "hint"), ERRORS)
def test_errors_have_a_code_and_a_place(text, options, kind, code, line, column, hint) -> None:
    with pytest.raises(QuilletError) as raised:
        Template(text, **options).render()
    error = raised.value
    assert type(error) is kind
    assert (error.code, error.line, error.column) == (code, line, column)
    assert error.source == "template"
    assert hint is None or hint in error.hint
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.__dict__, str(again)) == (kind, error.__dict__, str(error))


def test_formats_and_options_that_do_not_exist() -> None:
    with pytest.raises(TemplateSyntaxError, match="did you mean jinja"):
        Template("x", "jinga")
    bad = [
        {"missing": "never"},
        {"messages": "xml"},
        {"timeout": 0},
        {"timeout": float("nan")},
        {"limits": {"stepps": 1}},
        {"colour": "red"},
    ]
    for options in bad:
        with pytest.raises(OptionError) as raised:
            Template("x", **options)
        assert raised.value.hint
    for options in [{"partials": []}, {"name": 1}, {"limits": {"steps": -1}}, {"timeout": "1"}]:
        with pytest.raises((TypeError, OverflowError)):
            Template("x", **options)
    with pytest.raises(TypeError):
        Template(b"x")


def test_check() -> None:
    assert check("{{ x }}") == []
    assert [found["line"] for found in check("{{ x }}\n{% for %}")] == [2]
    found = check("{% include 'had' %}", partials={"head": ""})
    assert [(one["code"], one["hint"]) for one in found] == [
        ("template.partial", "did you mean head?")
    ]


def test_convert() -> None:
    assert convert("Hi {{ name }}", "jinja", "go", assume_text=True) == ("Hi {{.name}}", [])
    text, notes = convert("Hi {{ name }}", "jinja", "go")
    assert (text, len(notes)) == ("Hi {{.name}}", 1)
    with pytest.raises(ConvertError) as raised:
        convert("a {{ name|upper }}", "jinja", "go")
    error = raised.value
    assert (error.code, error.line, error.column) == ("convert.refused", 1, 6)
    assert len(error.diagnostics) == 1
    with pytest.raises(QuilletError, match="did you mean"):
        convert("x", "jinga", "go")


def test_formats() -> None:
    known = formats()
    assert "jinja2" in known["jinja"] and set(GREETINGS) <= set(known)


def test_copies_and_pickles() -> None:
    template = Template("{{ x }}{% include 'p' %}", partials={"p": "!"}, name="t")
    for again in (pickle.loads(pickle.dumps(template)), copy.deepcopy(template)):
        assert type(again) is Template
        assert (again.render(x=1), again.name) == ("1!", "t")


def test_batch_continues_after_a_failed_row() -> None:
    template = Template("{{ 10 // n }}", missing="strict")
    rows = [{"n": 1}, {"n": 0}, {}, {"n": object()}, ["n"], {"n": 5}]
    texts, errors = template.render_batch(iter(rows))
    assert texts == ["10", None, None, None, None, "2"]
    codes = [error and error.code for error in errors]
    missing, invalid = "render.missing_variable", "variables.invalid"
    assert codes == [None, "render.execution", missing, invalid, invalid, None]
    assert str(errors[3]).startswith("n: values of type object")
    many, none = template.render_batch({"n": 1 + i % 10} for i in range(5000))
    assert many == [str(10 // (1 + i % 10)) for i in range(5000)] and none == [None] * 5000
    assert template.render_batch([]) == ([], [])


def test_limits_are_options() -> None:
    with pytest.raises(LimitError, match="output_bytes"):
        Template("{{ 'x' * 1000 }}", limits={"output_bytes": 100}).render()
    with pytest.raises(LimitError, match="steps"):
        loop = "{% for i in range(100) %}{% for j in range(100) %}x{% endfor %}{% endfor %}"
        Template(loop, limits={"steps": 2000}).render()
    with pytest.raises(LimitError, match="source_bytes"):
        Template("x" * 100, limits={"source_bytes": 10})


def test_threads_share_a_template() -> None:
    template = Template("{% for i in items %}{{ i }},{% endfor %}")
    items = list(range(500))
    wanted = template.render(items=items)
    wrong: list[str] = []

    def work() -> None:
        for _ in range(50):
            text = template.render(items=items)
            if text != wanted:
                wrong.append(text)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_stubs_match_the_module() -> None:
    """The stubs have exactly the public names of the compiled module."""
    stubs = (Path(quillet_engine.__file__).parent / "_engine.pyi").read_text()
    for kind in (_engine.Template, _engine.Rendering):
        names = [name for name in vars(kind) if not name.startswith("__")]
        assert names
        for name in names:
            assert f"def {name}(" in stubs, name
    for name, _ in inspect.getmembers(_engine, inspect.isbuiltin):
        assert f"def {name}(" in stubs, name
    assert (Path(quillet_engine.__file__).parent / "py.typed").exists()


def test_little_is_loaded_with_the_package() -> None:
    code = "import sys; import quillet_engine; print(*sorted(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = run.stdout.split()
    assert "quillet_engine._engine" in loaded
    assert not {"jinja2", "numpy", "yaml", "transformers", "langchain_core"} & set(loaded)
