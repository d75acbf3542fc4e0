"""Functions called by templates."""

from __future__ import annotations

import asyncio
import gc
import time

import pytest

from quillet_engine import LimitError, RenderError, Template, ToolWarning


def test_calls() -> None:
    calls: list[object] = []

    def weather(city: str, *, unit: str = "C") -> dict[str, object]:
        calls.append((city, unit))
        return {"city": city.upper(), "degrees": 3}

    template = Template("{{ weather(c).city }}: {{ weather(c, unit='F').degrees }}")
    assert template.render(c="Oslo", tools={"weather": weather}) == "OSLO: 3"
    assert sorted(calls) == [("Oslo", "C"), ("Oslo", "F")]


def test_arguments_by_name_of_the_parameters() -> None:
    template = Template("{{p.greet}}", "semantic-kernel")
    tools = {"p.greet": lambda name: f"Hi {name}"}
    assert template.render({"name": "Ada"}, tools=tools) == "Hi Ada"
    both = Template("{{p.f a='1' b=$y}}", "semantic-kernel")
    assert both.render({"y": 2}, tools={"p.f": lambda a, b: f"{a}-{b}"}) == "1-2"


def test_filters() -> None:
    template = Template("{{ name|shout }} {{ name|join_with('-')|shout }}", filters=["shout", "join_with"])
    tools = {"shout": str.upper, "join_with": lambda text, sep: sep.join(text)}
    assert template.functions == ["shout", "join_with"]
    assert template.render(name="ada", tools=tools) == "ADA A-D-A"


class Odd(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text either")


def fail(error: BaseException):
    def tool(*_, **__):
        raise error

    return tool


FAILURES = [
    (fail(ValueError("no such city")), "ValueError: no such city"),
    (fail(KeyError()), "KeyError"),
    (fail(Odd()), "Odd"),
    (fail(RecursionError("deep")), "RecursionError: deep"),
    (lambda: 1, "takes 0 positional arguments"),
    (lambda _: object(), "its result: values of type object"),
    (lambda _: {"a": [b"x"]}, "its result.a[0]: bytes cannot be passed to a template"),
    (lambda _: 2**70, "its result: the integer has more than 64 bits"),
    (lambda _: "\ud800", "surrogate"),
]


@pytest.mark.parametrize(("tool", "said"), FAILURES, ids=[said for _, said in FAILURES])
def test_failed_call_renders_nothing_and_warns(tool, said: str) -> None:
    template = Template("[{{ f(1) }}|{{ f(1).city }}|{{ g() }}]")
    with pytest.warns(ToolWarning) as told:
        assert template.render(tools={"f": tool, "g": lambda: "on"}) == "[||on]"
    assert len(told) == 2 and said in str(told[0].message)
    with pytest.warns(ToolWarning) as told:
        assert asyncio.run(template.render_async(tools={"f": tool, "g": lambda: "on"})) == "[||on]"
    assert len(told) == 2 and (said in str(told[0].message) or said == "Odd")


def test_warnings_may_be_errors() -> None:
    with pytest.raises(ToolWarning, match="ValueError"):
        Template("{{ f() }}").render(tools={"f": fail(ValueError("x"))})


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_exit_exceptions_end_the_render(error: type[BaseException]) -> None:
    with pytest.raises(error):
        Template("{{ f() }}").render(tools={"f": fail(error())})


def test_an_asynchronous_function_needs_an_asynchronous_render() -> None:
    async def later() -> str:
        return "x"

    with pytest.warns(ToolWarning, match="render_async"):
        assert Template("[{{ f() }}]").render(tools={"f": later}) == "[]"
    gc.collect()


def test_functions_can_call_the_package() -> None:
    inner = Template("<{{ x }}>")
    outer = Template("{{ f(1) }}{{ f(f(2)) }}")
    assert outer.render(tools={"f": lambda x: inner.render(x=x)}) == "<1><<2>>"

    def again(depth: int) -> str:
        return template.render(depth=depth - 1, tools={"f": again}) if depth else "."

    template = Template("({{ f(depth) }})")
    assert template.render(depth=20, tools={"f": again}) == "(" * 21 + "." + ")" * 21


def test_missing_function() -> None:
    with pytest.raises(RenderError, match="did you mean weather"):
        Template("{{ wether() }}").render(tools={"weather": lambda: 1})


def test_calls_are_limited() -> None:
    template = Template("{% for i in range(300) %}{{ f(i) }}{% endfor %}")
    with pytest.raises(LimitError, match="calls"):
        template.render(tools={"f": lambda i: i})


def test_calls_run_concurrently() -> None:
    running = most = 0

    async def slow(value: object) -> object:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        running -= 1
        return value

    template = Template("{{ f(1) }}{{ f(2) }}{{ f(f(3)) }}{{ g(4) }}")
    tools = {"f": slow, "g": lambda x: x}
    assert asyncio.run(template.render_async(tools=tools)) == "1234"
    assert most == 3


def test_a_call_that_needs_another_does_not_wait_for_the_rest() -> None:
    async def main() -> str:
        chained = asyncio.Event()

        async def slow() -> str:
            await chained.wait()
            return "slow"

        async def a() -> str:
            return "a"

        async def b(text: str) -> str:
            chained.set()
            return text + "b"

        tools = {"slow": slow, "a": a, "b": b}
        return await Template("{{ slow() }} {{ b(a()) }}").render_async(tools=tools)

    assert asyncio.run(main()) == "slow ab"


def test_hanging_call_is_abandoned() -> None:
    ended: list[str] = []

    async def hang() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            ended.append("hang")

    template = Template("[{{ hang() }}|{{ quick() }}]", timeout=0.2)
    with pytest.warns(ToolWarning, match="did not answer within the render timeout"):
        tools = {"hang": hang, "quick": lambda: "q"}
        assert asyncio.run(template.render_async(tools=tools)) == "[|q]"
    assert ended == ["hang"]


def test_hanging_plain_function_delays_the_end() -> None:
    calls: list[str] = []
    with pytest.raises(LimitError) as raised:
        tools = {"f": lambda: time.sleep(0.1), "g": lambda _: calls.append("g")}
        Template("{{ g(f()) }}", timeout=0.05).render(tools=tools)
    assert raised.value.code == "render.timeout" and not calls


def test_cancelled_renders_cancel_their_calls() -> None:
    async def main() -> list[str]:
        log: list[str] = []
        begun = asyncio.Event()

        async def hang(name: str) -> None:
            begun.set()
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                log.append(name)
                raise

        work = Template("{{ f('a') }}{{ f('b') }}").render_async(tools={"f": hang})
        task = asyncio.create_task(work)
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(asyncio.all_tasks()) == 1
        return sorted(log)

    assert asyncio.run(main()) == ["a", "b"]


def test_messages_with_functions() -> None:
    async def question() -> str:
        return "system: why?"

    template = Template("system:\nBe brief.\nuser:\n{{ q() }}", messages="role-lines")
    wanted = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "system: why?"},
    ]
    assert asyncio.run(template.messages_async(tools={"q": question})) == wanted
    assert template.messages(tools={"q": lambda: "system: why?"}) == wanted


def test_variable_named_tools_is_kept() -> None:
    template = Template("{{ tools|length }}")
    assert template.render(tools=[1, 2]) == "2"
    assert asyncio.run(template.render_async(tools=[1, 2])) == "2"
    assert asyncio.run(Template("{{ x }}").render_async({"x": 1})) == "1"
