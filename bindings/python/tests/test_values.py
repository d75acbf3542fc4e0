"""Python values that templates accept."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import gc
import sys
import types
import weakref

import pytest

from quillet_engine import Template, VariableError

PRINT = Template("{{ x }}")


class Level(enum.IntEnum):
    LOW = 1


class Name(str):
    __slots__ = ()


READ = [
    (None, "None"),
    (True, "True"),
    (1, "1"),
    (-(2**63), "-9223372036854775808"),
    (1.5, "1.5"),
    (1e300, "1e+300"),
    (float("nan"), "nan"),
    (float("-inf"), "-inf"),
    ("text", "text"),
    ("\0é\U0001f600", "\0é\U0001f600"),
    ([1, "a", None], "[1, 'a', None]"),
    ((1, (2,)), "[1, [2]]"),
    ({"a": {"b": 1}}, "{'a': {'b': 1}}"),
    (collections.OrderedDict(a=1), "{'a': 1}"),
    (collections.defaultdict(int, a=1), "{'a': 1}"),
    (types.MappingProxyType({"a": 1}), "{'a': 1}"),
    (collections.UserDict(a=1), "{'a': 1}"),
    (collections.ChainMap({"a": 1}), "{'a': 1}"),
    (Level.LOW, "1"),
    (Name("n"), "n"),
]


@pytest.mark.parametrize(("value", "text"), READ, ids=[repr(text) for _, text in READ])
def test_is_read(value: object, text: str) -> None:
    assert PRINT.render(x=value) == text
    assert PRINT.render({"x": value}) == text


@dataclasses.dataclass
class Point:
    x: int


def itself() -> object:
    looped: list[object] = []
    looped.append({"again": looped})
    return looped


REFUSED = [
    (object(), "object", "str(x)"),
    (Point(1), "Point", "dataclasses.asdict"),
    ({1, 2}, "set", "str(x)"),
    (iter([1]), "list_iterator", "str(x)"),
    ((i for i in "ab"), "generator", "str(x)"),
    (datetime.date(2026, 1, 2), "datetime.date", "str(x)"),
    (decimal.Decimal("1.5"), "decimal.Decimal", "str(x)"),
    (1j, "complex", "str(x)"),
    (lambda: 1, "function", "str(x)"),
    (b"bytes", "bytes", "decode"),
    (bytearray(b"bytes"), "bytes", "decode"),
    (2**63, "64 bits", "str(x)"),
    (10**5000, "64 bits", "str(x)"),
    ("\ud800", "surrogate", "utf-16"),
    ({"\udfff": 1}, "surrogate", "utf-16"),
    ({1: "a"}, "key is of type int", "str(key)"),
    ({None: "a"}, "NoneType", "str(key)"),
    ({("a",): "a"}, "tuple", "str(key)"),
    (itself(), "128 levels", "contain itself"),
]


@pytest.mark.parametrize(("value", "said", "hint"), REFUSED, ids=[said for _, said, _ in REFUSED])
def test_is_rejected_with_its_path(value: object, said: str, hint: str) -> None:
    with pytest.raises(VariableError) as raised:
        PRINT.render(x={"list": [0, value]})
    error = raised.value
    assert isinstance(error, TypeError)
    assert error.code == "variables.invalid"
    assert said in error.message and hint in error.hint
    assert error.message.startswith("x.list[1]")


def test_paths_contain_any_key() -> None:
    with pytest.raises(VariableError, match=r'^x\["two words"\]\.é\[0\]: '):
        PRINT.render(x={"two words": {"é": [object()]}})
    with pytest.raises(VariableError, match="^variables must be a mapping of names to values, not"):
        PRINT.render([("x", 1)])


def test_depth_is_bounded_and_no_stack_overflows() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(VariableError, match="128 levels"):
        PRINT.render(x=deep)
    fits: list[object] = []
    for _ in range(125):
        fits = [fits]
    assert PRINT.render(x=fits).startswith("[[[")
    # Freed one by one, because Python would free them in a deep recursion.
    while deep:
        deep = deep.pop()


def test_shared_values_cannot_grow_without_limit() -> None:
    shared: object = "x"
    for _ in range(40):
        shared = [shared, shared]
    with pytest.raises(VariableError, match="more than 2000000"):
        PRINT.render(x=shared)


class Hostile(collections.UserDict):
    """A mapping with misbehaving code."""

    def __init__(self, act) -> None:
        self.act = act
        super().__init__(a=1)

    def items(self):
        self.act()
        return super().items()


def test_mappings_whose_code_misbehaves() -> None:
    def fail() -> None:
        raise ValueError("no items today")

    with pytest.raises(VariableError, match="cannot be read: ValueError: no items today"):
        PRINT.render(x=Hostile(fail))

    texts: list[str] = []
    assert PRINT.render(x=Hostile(lambda: texts.append(PRINT.render(x={"k": 2})))) == "{'a': 1}"
    assert texts == ["{'k': 2}"]

    outer: dict[str, object] = {}

    def grow() -> None:
        for number in range(1000):
            outer[f"more{number}"] = number

    outer["a"] = Hostile(grow)
    outer["b"] = 2
    assert Template("{{ a.a }}{{ b }}").render(outer) == "12"

    items: list[object] = [1]
    items.append(Hostile(items.clear))
    items.append(3)
    assert PRINT.render(x=items) == "[1, {'a': 1}]"


def test_same_values_in_many_renders() -> None:
    data = {"rows": [{"name": f"n{i}", "n": i} for i in range(10)]}
    template = Template("{% for r in rows %}{{ r.name }}={{ r.n }};{% endfor %}")
    text = template.render(data)
    references = sys.getrefcount(data), sys.getrefcount(data["rows"][0])
    for _ in range(1000):
        assert template.render(data) == text
    assert (sys.getrefcount(data), sys.getrefcount(data["rows"][0])) == references
    # New key objects each time, and more than the cache holds.
    for number in range(2000):
        assert Template("{{ x }}").render({"x": {f"key{number}": 1}}) == f"{{'key{number}': 1}}"


def test_a_variable_may_be_called_as_an_argument_is() -> None:
    names = ["self", "variables", "named", "text", "format", "tools", "name"]
    template = Template("".join(f"{{{{ {name} }}}}" for name in names))
    given = dict.fromkeys(names, 1)
    assert template.render(given) == "1" * len(names)
    assert template.render(**{**given, "tools": [1]}) == "11111[1]1"
    assert Template("{{ tools is none }}{{ tools }}").render(tools=None) == "TrueNone"
    assert Template("{{ tools }}").render(tools={}) == "{}"


def test_changed_values_are_detected() -> None:
    template = Template("{{ rows }}{{ table }}")
    rows: list[object] = [{"n": i, "t": f"text {i}"} for i in range(5)]
    table: dict[str, object] = {"a": [1, 2, 3], "b": {"c": 1, "d": 2, "e": 3}, "f": None}

    def check() -> None:
        for _ in range(3):
            fresh = Template(template.text)
            assert template.render(rows=rows, table=table) == fresh.render(rows=rows, table=table)

    check()
    changes = [
        lambda: rows.append({"n": 5, "t": "more"}),
        lambda: rows[0].update(n=-1),
        lambda: rows[1].update(t="other"),
        lambda: rows[2].pop("n"),
        lambda: rows[2].update(n=1),
        lambda: rows.pop(0),
        lambda: rows.reverse(),
        lambda: rows.insert(1, [1, [2, {"x": 1.5}]]),
        lambda: rows[1][1].append(True),
        lambda: table["a"].clear(),
        lambda: table.pop("a"),
        lambda: table.update(a=(1, [2])),
        lambda: table["a"][1].append(3),
        lambda: table.update({"b": "now a text"}),
        lambda: table.update(big=2**62, small=-(2**62)),
        lambda: rows.extend(Name(f"name {i}") for i in range(3)),
        lambda: rows.clear(),
        lambda: rows.extend({"n": i} for i in range(9)),
    ]
    for change in changes:
        change()
        check()
    # Different values in the same variables, more often than the cache tolerates.
    for number in range(30):
        rows[:] = [{"n": number, "t": str(number)} for _ in range(9)]
        check()


def test_unreadable_value_is_reported_again_until_fixed() -> None:
    template = Template("{{ x|length }}")
    items: list[object] = [1, 2, {"a": [3]}]
    for _ in range(3):
        assert template.render(x=items) == "3"
    items[2]["a"].append(object())
    for _ in range(3):
        with pytest.raises(VariableError, match=r"^x\[2\]\.a\[1\]: "):
            template.render(x=items)
    items[2]["a"].pop()
    for _ in range(3):
        assert template.render(x=items) == "3"
    items[1] = Hostile(lambda: items.append(1) if len(items) < 5 else None)
    for _ in range(3):
        assert template.render(x=items) in "345"


def test_no_list_and_no_dict_is_kept_alive() -> None:
    class Watched:
        pass

    template = Template("{{ x|length }}")
    watched = Watched()
    gone = weakref.ref(watched)
    items = [["a"], ["b"], ["c"]]
    for _ in range(4):
        template.render(x=items)
    references = sys.getrefcount(items[0])
    assert references == 2
    items.append(template)
    items.append(watched)
    del template, items, watched
    gc.collect()
    assert gone() is None
