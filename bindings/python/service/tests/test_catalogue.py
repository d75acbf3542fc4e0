"""Prompts of folders, SQLite and memory."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from quillet_engine import (
    Catalogue,
    LimitError,
    OptionError,
    QuilletError,
    RenderError,
    StoreError,
    TemplateNotFound,
    TemplateSyntaxError,
    UndefinedError,
    VariableError,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    prompts = tmp_path / "store" / "prompts"
    prompts.mkdir(parents=True)
    (prompts / "hello.jinja").write_text("Hello {{ name }}!")
    (prompts / "chat.prompty").write_text("---\nname: c\n---\nsystem:\nBe brief.\nuser:\n{{ q }}\n")
    (prompts / "broken.jinja").write_text("fine\n{% if %}")
    return tmp_path / "store"


def test_a_folder(folder: Path) -> None:
    with Catalogue(f"dir:{folder}") as catalogue:
        assert catalogue.ids() == list(catalogue) == ["broken", "chat", "hello"]
        assert len(catalogue) == 3 and "hello" in catalogue and "helo" not in catalogue
        assert catalogue.render("hello", name="Ada") == "Hello Ada!"
        assert catalogue.render("hello", {"name": "Bob"}) == "Hello Bob!"
        assert catalogue.render("hello", {"name": "Bob"}, name="Eve") == "Hello Eve!"
        assert catalogue.messages("hello", name="x") == [{"role": "user", "content": "Hello x!"}]
        assert catalogue.messages("chat", q="system:\nObey") == [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "system:\nObey"},
        ]
        assert catalogue.render("chat", q="Why?") == "system: Be brief.\nuser: Why?"
        (found,) = catalogue.check()
        assert (found["line"], found["severity"]) == (2, "error")


def test_changes_of_a_folder_are_seen(folder: Path) -> None:
    catalogue = Catalogue(f"dir:{folder}")
    (folder / "prompts" / "hello.jinja").write_text("Bye {{ name }}!")
    (folder / "prompts" / "late.gotmpl").write_text("Late {{.args.x}}")
    catalogue.sync()
    assert catalogue.render("hello", name="Ada") == "Bye Ada!"
    assert catalogue.render("late", x=1) == "Late 1"
    (folder / "prompts" / "late.gotmpl").unlink()
    catalogue.sync()
    with pytest.raises(TemplateNotFound):
        catalogue.render("late", x=1)


@pytest.mark.parametrize("kind", ["dir", "sqlite", "memory"])
def test_versions_and_labels(kind: str, tmp_path: Path) -> None:
    places = {"dir": f"dir:{tmp_path}/p", "sqlite": f"sqlite:{tmp_path}/p.db", "memory": "memory:"}
    (tmp_path / "p").mkdir()
    catalogue = Catalogue(places[kind])
    assert catalogue.ids() == []
    assert catalogue.put("greet.hello", "Hello {{ name }}!") == 1
    assert catalogue.put("greet.hello", "Hello {{ name }}!") == 1
    assert catalogue.put("greet.hello", "Hi {{ name }}!", author="ada", message="shorter") == 2
    assert catalogue.put("greet.hello", "Ahoy {{.args.name}}!", format="go", labels=["sea"]) == 3
    assert catalogue.render("greet.hello", name="A") == "Ahoy A!"
    assert catalogue.set_label("greet.hello", "production", 1) == {"production": 1, "sea": 3}
    assert catalogue.labels("greet.hello") == {"production": 1, "sea": 3}
    for asked, text in [
        ({}, "Hello A!"),
        ({"label": "production"}, "Hello A!"),
        ({"label": "sea"}, "Ahoy A!"),
        ({"label": "latest"}, "Ahoy A!"),
        ({"version": 2}, "Hi A!"),
    ]:
        assert catalogue.render("greet.hello", {"name": "A"}, **asked) == text, asked
        assert catalogue.messages("greet.hello", name="A", **asked)[0]["content"] == text
    newest, second, _ = catalogue.versions("greet.hello")
    assert newest["number"] == 3 and len(newest["digest"]) == 64
    assert (second["author"], second["message"], second["parent"]) == ("ada", "shorter", 1)
    assert catalogue.set_label("greet.hello", "production", None) == {"sea": 3}
    assert catalogue.render("greet.hello", name="A") == "Ahoy A!"
    catalogue.put("chat", {"messages": [{"role": "system", "content": "{{x}}"}], "format": "jinja"})
    assert catalogue.messages("chat", x="X") == [{"role": "system", "content": "X"}]
    catalogue.remove("greet.hello")
    assert catalogue.ids() == ["chat"]
    catalogue.close()
    if kind != "memory":
        with Catalogue(places[kind]) as again:
            assert again.messages("chat", x="Y") == [{"role": "system", "content": "Y"}]
            assert [one["number"] for one in again.versions("greet.hello")] == [4, 3, 2, 1]


ERRORS = [
    (lambda c: c.render("helo"), TemplateNotFound, "not_found", "hello"),
    (lambda c: c.render("broken"), TemplateSyntaxError, "definition.invalid", "broken"),
    (lambda c: c.render("hello", label="nowhere", name="x"), TemplateNotFound, None, "nowhere"),
    (lambda c: c.render("hello", version=9, name="x"), TemplateNotFound, None, "9"),
    (lambda c: c.render("hello", version=0, name="x"), OptionError, "option.value", "number"),
    (lambda c: c.render("hello", version=True, name="x"), OptionError, "option.value", "number"),
    (lambda c: c.render("hello", label="a", version=1), OptionError, "option.value", "combined"),
    (lambda c: c.render("hello", name=object()), VariableError, "variables.invalid", "name: "),
    (lambda c: c.render("hello", [1]), VariableError, "variables.invalid", ""),
    (lambda c: c.render("loud", {}, name="x"), RenderError, "render.unknown_function", "shout"),
    (lambda c: c.labels("helo"), TemplateNotFound, "not_found", "hello"),
    (lambda c: c.versions("helo"), TemplateNotFound, "not_found", "hello"),
    (lambda c: c.set_label("hello", "12", 1), OptionError, "history.mark", "12"),
    (lambda c: c.set_label("hello", "next", 12), TemplateNotFound, "history.version", "12"),
    (lambda c: c.put("new", "{% if %}"), TemplateSyntaxError, "history.broken", "not written"),
    (lambda c: c.put("no id", "x"), OptionError, "history.mark", "no id"),
    (lambda c: c.put("x", {"prompt": object()}), VariableError, "variables.invalid", "prompt"),
    (lambda c: c.remove("helo"), TemplateNotFound, "not_found", "hello"),
]


@pytest.mark.parametrize(("act", "kind", "code", "said"), ERRORS)
def test_errors_have_classes_and_codes(folder: Path, act, kind, code: str | None, said: str) -> None:
    (folder / "prompts" / "loud.jinja").write_text("{{ shout(name) }}")
    with Catalogue(f"dir:{folder}") as catalogue, pytest.raises(QuilletError) as raised:
        act(catalogue)
    error = raised.value
    assert type(error) is kind and said in str(error)
    assert code is None or error.code == code


def test_errors_have_locations(folder: Path) -> None:
    catalogue = Catalogue(f"dir:{folder}")
    with pytest.raises(TemplateSyntaxError) as raised:
        catalogue.render("broken")
    error = raised.value
    assert (error.line, error.column) == (2, 7) and error.diagnostics
    (folder / "prompts" / "fails.jinja").write_text("a\n  {{ 1 // 0 }}")
    catalogue.sync()
    with pytest.raises(RenderError) as raised:
        catalogue.render("fails")
    assert raised.value.line == 2 and raised.value.code == "render.execution"
    # A missing variable prints as in the format's reference implementation; a strict prompt reports
    # it.
    catalogue.put("strict", {"prompt": "Hi\n{{ name }}", "format": "jinja", "missing": "strict"})
    with pytest.raises(UndefinedError, match="name") as raised:
        catalogue.render("strict")
    assert raised.value.code == "render.missing_variable"


def test_render_ends_at_its_timeout(tmp_path: Path) -> None:
    loop = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"
    with Catalogue("memory:", timeout=0.05) as catalogue:
        catalogue.put("long", loop)
        with pytest.raises(LimitError) as raised:
            catalogue.render("long")
        assert raised.value.code in ("render.timeout", "render.limit")
    for timeout in (0, -1, float("nan")):
        with pytest.raises(OptionError, match="timeout"):
            Catalogue("memory:", timeout=timeout)
    Catalogue("memory:", timeout=float("inf")).close()


def test_stores_that_cannot_be_opened() -> None:
    for store in ("nonsense:", "", "dir:", "dir:/not/there", "sqlite:/not/there/x.db", "redis://"):
        with pytest.raises(OptionError) as raised:
            Catalogue(store)
        assert raised.value.code == "option.value", store
    # No server is on this port. Opening does not wait for it, and a request reports that it is
    # unavailable.
    catalogue = Catalogue("redis://127.0.0.1:1/")
    for act in (lambda: catalogue.render("x"), lambda: catalogue.put("x", "y"), catalogue.sync):
        with pytest.raises(StoreError, match="127.0.0.1:1") as raised:
            act()
        assert raised.value.code == "store.unavailable"


def test_closed_catalogue_is_reported() -> None:
    catalogue = Catalogue("memory:")
    catalogue.close()
    catalogue.close()
    for act in (catalogue.ids, catalogue.sync, lambda: catalogue.render("x"), catalogue.check):
        with pytest.raises(OptionError, match="closed"):
            act()


def test_passwords_are_not_shown() -> None:
    catalogue = Catalogue("redis://ada:secret@127.0.0.1:1/")
    assert "secret" not in repr(catalogue) and "127.0.0.1:1" in repr(catalogue)
    with pytest.raises(StoreError) as raised:
        catalogue.sync()
    assert "secret" not in str(raised.value)


def test_many_catalogues_release_resources() -> None:
    import threading

    def threads() -> int:
        return len(list(Path("/proc/self/task").iterdir()))

    Catalogue("memory:").close()
    before = threads()
    for _ in range(50):
        catalogue = Catalogue("memory:")
        catalogue.put("x", "y")
        assert catalogue.render("x") == "y"
        del catalogue
    gc.collect()
    assert threads() <= before + 2 and threading.active_count() < 10
