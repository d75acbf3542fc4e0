"""Functions called by stored prompts."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
from collections.abc import Iterator

import pytest

from quillet_engine import Catalogue, OptionError, Template, ToolWarning

TEXTS = {
    "report": "{{ weather(city).sky }} in {{ city }}{{ weather(city, unit='F').degrees }}",
    "two": "{{ a(1) }}{{ b(2) }}",
    "one": "[{{ f(1) }}]",
    "twice": "{{ f() }}|{{ f() }}",
    "sk": "{{p.greet}}",
}


@pytest.fixture
def catalogue() -> Iterator[Catalogue]:
    with Catalogue("memory:", timeout=20) as made:
        for id, text in TEXTS.items():
            made.put(id, text, format="semantic-kernel" if id == "sk" else "jinja")
        yield made


def rendered(catalogue: Catalogue, id: str, *, by: str, tools, **variables: object) -> str:
    """Runs it synchronously or asynchronously."""
    if by == "threads":
        return catalogue.render(id, variables, tools=tools)
    return asyncio.run(catalogue.render_async(id, variables, tools=tools))


both = pytest.mark.parametrize("by", ["threads", "loop"])


@both
def test_calls(catalogue: Catalogue, by: str) -> None:
    calls: list[object] = []

    def weather(city: str, *, unit: str = "C") -> dict[str, object]:
        """The weather of a city."""
        calls.append((city, unit))
        return {"sky": "cold", "degrees": 3}

    tools = {"weather": weather}
    assert rendered(catalogue, "report", by=by, tools=tools, city="Oslo") == "cold in Oslo3"
    assert sorted(calls) == [("Oslo", "C"), ("Oslo", "F")]
    assert rendered(catalogue, "one", by=by, tools={"f": str}) == "[1]"
    assert rendered(catalogue, "one", by=by, tools={"f": functools.partial(pow, 2)}) == "[2]"
    tools = {"p.greet": lambda name: f"Hi {name}"}
    assert rendered(catalogue, "sk", by=by, tools=tools, name="Ada") == "Hi Ada"


@both
def test_calls_run_concurrently(catalogue: Catalogue, by: str) -> None:
    # Each waits for the other, so sequential calls would never end.
    meeting = threading.Barrier(2, timeout=15)
    tools = {"a": lambda n: meeting.wait() and n or n, "b": lambda n: meeting.wait() and n or n}
    assert rendered(catalogue, "two", by=by, tools=tools) == "12"


def test_asynchronous_functions(catalogue: Catalogue) -> None:
    async def run() -> str:
        met = asyncio.Event()

        async def a(n: int) -> int:
            await asyncio.wait_for(met.wait(), 15)
            return n

        async def b(n: int) -> int:
            met.set()
            return n

        return await catalogue.render_async("two", tools={"a": a, "b": b})

    assert asyncio.run(run()) == "12"


def test_asynchronous_functions_of_a_plain_render(catalogue: Catalogue) -> None:
    async def f(n: int) -> int:
        await asyncio.sleep(0)
        return n

    assert catalogue.render("one", tools={"f": f}) == "[1]"
    assert catalogue.messages("one", tools={"f": f}) == [{"role": "user", "content": "[1]"}]

    async def inside() -> None:
        with pytest.raises(OptionError, match="await catalogue.render_async"):
            catalogue.render("one", tools={"f": f})
        assert await catalogue.messages_async("one", tools={"f": f})

    asyncio.run(inside())
    # A function that is not declared asynchronous returns a coroutine.
    with pytest.warns(ToolWarning, match="asynchronous"):
        assert catalogue.render("one", tools={"f": lambda n: f(n)}) == "[]"


def fail(error: BaseException):
    def tool(n: object) -> object:
        raise error

    return tool


class Odd(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text either")


circle: list[object] = []
circle.append(circle)
FAILURES = [
    (fail(ValueError("no such city")), "ValueError: no such city"),
    (fail(KeyError()), "KeyError"),
    (fail(Odd()), "Odd"),
    (fail(StopIteration(3)), "StopIteration"),
    (lambda: 1, "takes at most 0 arguments"),
    (lambda n: object(), "its result: values of type object"),
    (lambda n: {"a": [b"x"]}, "its result.a[0]: bytes cannot be passed to a template"),
    (lambda n: 2**70, "its result: the integer has more than 64 bits"),
    (lambda n: "\ud800", "surrogate"),
    (lambda n: circle, "nested deeper"),
    (lambda n: {1: 2}, "keys must be text"),
]


@both
@pytest.mark.parametrize(("tool", "said"), FAILURES, ids=[said for _, said in FAILURES])
def test_failed_call_renders_nothing_and_warns(catalogue, by: str, tool, said: str) -> None:
    with pytest.warns(ToolWarning) as told:
        assert rendered(catalogue, "one", by=by, tools={"f": tool}) == "[]"
    (warning,) = told
    assert said in str(warning.message)
    if by == "threads":
        assert warning.filename == __file__


@both
@pytest.mark.parametrize("end", [KeyboardInterrupt(), SystemExit(3)])
def test_base_exception_ends_the_render(catalogue, by: str, end: BaseException) -> None:
    with pytest.raises(type(end)):
        rendered(catalogue, "one", by=by, tools={"f": fail(end)})
    assert rendered(catalogue, "one", by=by, tools={"f": lambda n: "on"}) == "[on]"


@both
def test_hanging_function_does_not_block_others(by: str) -> None:
    stop = threading.Event()
    with Catalogue("memory:", timeout=0.3) as catalogue:
        catalogue.put("one", "[{{ f(1) }}]")
        with pytest.warns(ToolWarning, match="did not answer within the render timeout"):
            assert rendered(catalogue, "one", by=by, tools={"f": lambda n: stop.wait(50)}) == "[]"
    stop.set()


def test_asynchronous_function_is_cancelled_at_timeout() -> None:
    ended: list[str] = []

    async def f(n: int) -> None:
        try:
            await asyncio.sleep(50)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    with Catalogue("memory:", timeout=0.3) as catalogue:
        catalogue.put("one", "[{{ f(1) }}]")
        with pytest.warns(ToolWarning, match="did not answer"):
            assert asyncio.run(catalogue.render_async("one", tools={"f": f})) == "[]"
    assert ended == ["cancelled"]


def test_cancelling_a_render_cancels_its_functions(catalogue: Catalogue) -> None:
    ended: list[str] = []

    async def run() -> None:
        began = asyncio.Event()

        async def f(n: int) -> None:
            began.set()
            try:
                await asyncio.sleep(50)
            except asyncio.CancelledError:
                ended.append("cancelled")
                raise

        task = asyncio.create_task(catalogue.render_async("one", tools={"f": f}))
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert ended == ["cancelled"]
    assert catalogue.render("one", tools={"f": lambda n: n}) == "[1]"


@both
def test_a_function_may_call_the_package(catalogue: Catalogue, by: str) -> None:
    def f(n: int) -> str:
        inner = catalogue.render("one", tools={"f": lambda n: Template("{{ 1 + 1 }}").render()})
        catalogue.sync()
        return inner + ",".join(catalogue.labels("one"))

    assert rendered(catalogue, "one", by=by, tools={"f": f}) == "[[2]]"


@both
def test_a_function_sees_the_context_of_its_caller(catalogue: Catalogue, by: str) -> None:
    user = contextvars.ContextVar("user", default="nobody")
    user.set("ada")
    assert rendered(catalogue, "one", by=by, tools={"f": lambda n: user.get()}) == "[ada]"


def test_functions_override_stored_tools(catalogue: Catalogue) -> None:
    # Other renders do not have these tools.
    assert catalogue.render("one", tools={"f": lambda n: "mine"}, version=1) == "[mine]"
    with pytest.raises(Exception, match="f"):
        catalogue.render("one", version=1)


def test_variable_named_tools_is_kept(catalogue: Catalogue) -> None:
    catalogue.put("chat", "{{ tools|length }}")
    assert catalogue.render("chat", tools=[1, 2]) == "2"
    assert catalogue.render("chat", tools={"name": "x"}) == "1"
    assert asyncio.run(catalogue.render_async("chat", tools=[1])) == "1"


def test_descriptions_of_functions() -> None:
    from quillet_engine_service._functions import read

    def weather(city: str, days: int = 1, *, units: list[str] | None = None) -> str:
        """The weather
        of a city.

        More."""
        return city

    (told,) = read({"weather": weather})[1]
    assert told == {
        "name": "weather",
        "description": "The weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "days": {"type": "integer"},
                "units": {"type": "array"},
            },
            "required": ["city"],
        },
    }
    assert read({"f": lambda *all: 1})[1] == [{"name": "f", "description": "", "parameters": None}]
    schema = {"type": "object"}
    given = {"call": len, "description": "d", "parameters": schema}
    assert read({"f": given})[1] == [{"name": "f", "description": "d", "parameters": schema}]
    for wrong in ({"f": 1}, {"f": {"call": None}}, {"f": {"call": len, "nmae": 1}}):
        with pytest.raises(OptionError):
            read(wrong)
