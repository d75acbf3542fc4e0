"""Scripts whose model and tools are Python functions."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from pathlib import Path

import pytest

from quillet_engine import (
    Catalogue,
    LimitError,
    OptionError,
    QuilletError,
    ScriptError,
    run,
    run_async,
)

ASK = """---
input: [name]
---
- system: Be brief.
- user: "Hi {{name}}"
"""


def ran(script, *given, by: str, **options):
    """Runs it synchronously or asynchronously."""
    if by == "threads":
        return run(script, *given, **options)
    return asyncio.run(run_async(script, *given, **options))


both = pytest.mark.parametrize("by", ["threads", "loop"])


@both
def test_a_file_and_a_text(tmp_path: Path, by: str) -> None:
    file = tmp_path / "ask.ai.yaml"
    file.write_text(ASK)
    for script in (file, str(file), str(tmp_path / "ask"), ASK):
        asked: list[object] = []

        def model(messages: list[dict[str, object]]) -> str:
            asked.append(messages)
            return "Hello back"

        assert ran(script, {"name": "Ada"}, by=by, model=model) == "Hello back"
        assert asked == [
            [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi Ada"}]
        ]


@both
def test_inputs(by: str) -> None:
    def last(messages):
        return messages[-1]["content"]

    assert ran('user: "{{a.b[1]}}"\n', {"a": {"b": [1, 2]}}, by=by, model=last) == "2"
    assert ran("system: x\n", "what I say", by=by, model=last) == "what I say"
    assert ran('$ret: "?=({a: 1, b: [2, null]})"\n', by=by, model=last) == {"a": 1, "b": [2, None]}
    assert ran('$ret: "?=undefined"\n', by=by, model=last) is None
    # JavaScript is available too.
    code = '!fn |-\n  function twice({n}) { return n * 2 }\n$ret: "?=twice({n: 21})"\n'
    assert ran(code, by=by, model=last) == 42


@both
def test_model_receives_accepted_arguments(by: str) -> None:
    script = "---\nparameters: {model: gpt-x, temperature: 0.5}\n---\nuser: q\n"
    told: dict[str, object] = {}

    def all_of_it(messages, **options):
        told.update(options)
        return "a"

    def one_of_it(messages, temperature, top_p=1):
        return f"{temperature} {top_p}"

    assert ran(script, by=by, model=all_of_it) == "a"
    assert told["model"] == "gpt-x" and told["temperature"] == 0.5 and "stream" not in told
    assert ran(script, by=by, model=one_of_it) == "0.5 1"
    assert ran(script, by=by, model=lambda m: "b", parameters={"temperature": 1}) == "b"
    assert ran(script, by=by, model=one_of_it, parameters={"temperature": 0.25}) == "0.25 1"


class Completion:
    """As returned by OpenAI's client."""

    def model_dump(self) -> dict[str, object]:
        message = {"role": "assistant", "content": "dumped"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
        return {"id": "x", "model": "m", "created": 1, "choices": [choice], "usage": usage}


@both
def test_answer_formats(by: str) -> None:
    async def later(messages):
        return Completion()

    for answer, text in [
        ("said", "said"),
        ({"role": "assistant", "content": "a message"}, "a message"),
        ({"content": [{"type": "text", "text": "parts"}]}, "parts"),
        (Completion(), "dumped"),
        (Completion().model_dump(), "dumped"),
    ]:
        assert ran("user: q\n", by=by, model=lambda messages: answer) == text
    assert ran("user: q\n", by=by, model=later) == "dumped"
    assert asyncio.run(run_async("user: q\n", model=lambda messages: later(messages))) == "dumped"


circle: list[object] = []
circle.append(circle)
ODD = [
    (None, "invalid answer of the model"),
    (1, "invalid answer of the model"),
    ([], "invalid answer of the model"),
    ({}, "invalid answer of the model"),
    ({"role": "assistant"}, "invalid answer of the model"),
    ({"choices": []}, "invalid answer of the model"),
    ({"content": None, "tool_calls": [{"function": 3}]}, "invalid answer of the model"),
    (object(), "values of type object"),
    (b"x", "bytes"),
    ("\ud800", "surrogate"),
    (circle, "nested deeper"),
    ({1: 2}, "keys must be text"),
]


@both
@pytest.mark.parametrize(("answer", "said"), ODD, ids=[str(number) for number in range(len(ODD))])
def test_odd_answers(by: str, answer: object, said: str) -> None:
    with pytest.raises(ScriptError, match=said) as raised:
        ran("user: q\n", by=by, model=lambda messages: answer)
    assert raised.value.code == "script.model"


def test_undeclared_asynchronous_model() -> None:
    async def later(messages):
        return "later"

    with pytest.raises(ScriptError, match="asynchronous"):
        run("user: q\n", model=lambda messages: later(messages))
    assert run("user: q\n", model=later) == "later"

    async def inside() -> None:
        with pytest.raises(OptionError, match="await run_async"):
            run("user: q\n", model=later)
        # Plain functions work in both cases.
        assert run("user: q\n", model=lambda messages: "plain") == "plain"

    asyncio.run(inside())


@both
def test_a_model_that_raises(by: str) -> None:
    class Odd(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text either")

    for error, said in [(ValueError("no network"), "ValueError: no network"), (Odd(), "Odd")]:

        def model(messages):
            raise error

        with pytest.raises(ScriptError, match=said) as raised:
            ran("system: x\nuser: q\n", by=by, model=model)
        assert raised.value.__cause__ is error
        assert raised.value.code == "script.model" and raised.value.line is not None
    for end in (KeyboardInterrupt(), SystemExit(3)):

        def stop(messages):
            raise end

        with pytest.raises(type(end)):
            ran("user: q\n", by=by, model=stop)


@both
def test_hanging_model_ends_at_timeout(by: str) -> None:
    stop = threading.Event()
    with pytest.raises(LimitError, match="longer than 0.2 s") as raised:
        ran("user: q\n", by=by, model=lambda messages: stop.wait(50) or "late", timeout=0.2)
    stop.set()
    assert raised.value.code == "script.limit" and "timeout" in raised.value.hint
    for timeout in (0, -1, float("nan")):
        with pytest.raises(OptionError, match="timeout"):
            ran("user: q\n", by=by, model=str, timeout=timeout)


def test_cancelling_a_run_cancels_its_model() -> None:
    ended: list[str] = []

    async def main() -> None:
        began = asyncio.Event()

        async def model(messages):
            began.set()
            try:
                await asyncio.sleep(50)
            except asyncio.CancelledError:
                ended.append("cancelled")
                raise

        task = asyncio.create_task(run_async("user: q\n", model=model))
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(LimitError):
            await run_async("user: q\n", model=model, timeout=0.1)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(run_async("user: q\n", model=model), 0.1)

    asyncio.run(main())
    assert ended == ["cancelled"] * 3


PARALLEL = """---
autoRunLLMIfPromptAvailable: false
---
$match(7, allMatches=true, parallel=true):
  :> 1:
    - -> ask("one") -> $set("a")
  :> 2:
    - -> ask("two") -> $set("b")
$ret: "?=a + b"
"""

TOOLS = """---
tools: [weather]
---
user: How is Oslo?
"""


def ask_for_weather(messages, tools=None, **_):
    """A model that calls a tool and repeats its result."""
    if messages[-1]["role"] == "tool":
        return f"It is {messages[-1]['content']}."
    (tool,) = tools
    function = {"name": tool["function"]["name"], "arguments": {"city": "Oslo"}}
    return {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": function}]}


@both
def test_tools_of_the_model(by: str) -> None:
    offered: list[object] = []

    def weather(city: str) -> str:
        """The weather of a city."""
        return f"cold in {city}"

    def model(messages, tools=None, **options):
        offered.append(tools)
        return ask_for_weather(messages, tools, **options)

    answer = ran(TOOLS, by=by, model=model, tools={"weather": weather})
    assert answer == "It is cold in Oslo."
    function = offered[0][0]["function"]
    assert function["description"] == "The weather of a city."
    assert function["parameters"]["properties"] == {"city": {"type": "string"}}
    # For a model without tool calling, the tools are described in the prompt.
    asked: list[str] = []
    ran(TOOLS, by=by, tools={"weather": weather}, abilities=[], model=lambda m: asked.append(str(m)) or "x")
    assert "weather" in asked[0]


@both
def test_tools_of_the_script(by: str) -> None:
    script = "$tool: {name: add, a: 1, b: 2}\n"

    async def add(a: int, b: int) -> int:
        return a + b

    assert ran(script, by=by, model=str, tools={"add": add}) == 3
    assert ran(script, by=by, model=str, tools={"add": lambda a, b: {"sum": a + b}}) == {"sum": 3}
    with pytest.raises(ScriptError, match="ZeroDivisionError") as raised:
        ran(script, by=by, model=str, tools={"add": lambda a, b: a // (b - 2)})
    assert isinstance(raised.value.__cause__, ZeroDivisionError)
    with pytest.raises(ScriptError, match="bytes"):
        ran(script, by=by, model=str, tools={"add": lambda a, b: b"x"})
    with pytest.raises(QuilletError, match="add"):
        ran(script, by=by, model=str)


@both
def test_branches_call_the_model_concurrently(tmp_path: Path, by: str) -> None:
    meeting = threading.Barrier(2, timeout=15)

    def model(messages):
        # Each waits for the other, so sequential calls would never end.
        meeting.wait()
        return messages[-1]["content"]

    (tmp_path / "main.ai.yaml").write_text(PARALLEL)
    ask = '---\ninput: [{content: {index: 0}}]\n---\nuser: "{{content}}"\n'
    (tmp_path / "ask.ai.yaml").write_text(ask)
    assert ran(tmp_path / "main.ai.yaml", by=by, model=model) == "onetwo"
    # A script passed as text finds other scripts in the search folders.
    assert ran(PARALLEL, by=by, model=model, search=[tmp_path]) == "onetwo"


@both
def test_a_model_may_call_the_package(by: str) -> None:
    user = contextvars.ContextVar("user", default="nobody")
    user.set("ada")
    with Catalogue("memory:") as catalogue:
        catalogue.put("hello", "Hello {{ name }}!")

        def model(messages):
            inner = run("user: q\n", model=lambda messages: "inner")
            return catalogue.render("hello", name=f"{inner} {user.get()}")

        assert ran("user: q\n", by=by, model=model) == "Hello inner ada!"


@both
def test_no_outside_access_by_default(tmp_path: Path, by: str) -> None:
    secret = tmp_path / "other" / "secret.txt"
    secret.parent.mkdir()
    secret.write_text("secret")
    own = tmp_path / "scripts"
    own.mkdir()
    script = own / "read.ai.yaml"
    script.write_text(
        f"---\nimport: {{'js:fs': '*'}}\n---\n- $ret: \"?=this.$fs.readFileSync('{secret}', 'utf8')\"\n"
    )
    model = str
    with pytest.raises(ScriptError, match="needs a permission"):
        ran(script, by=by, model=model)
    assert ran(script, by=by, model=model, allow_read=[secret.parent]) == "secret"
    env = '$ret: "?=ENV.HOME"\n'
    assert ran(env, by=by, model=model) is None
    assert ran(env, by=by, model=model, allow_env=["HOME"])
    with pytest.raises(OptionError, match="not_there"):
        ran(env, by=by, model=model, allow_read=[tmp_path / "not_there"])


@both
def test_events_are_reported(by: str) -> None:
    events: list[dict[str, object]] = []
    script = '---\n---\n$print: "one"\n$tool: {name: f}\n---\nuser: q\n'
    tools = {"f": lambda: 1}
    ran(script, by=by, model=lambda m: "a", tools=tools, on_event=events.append)
    assert {"type": "printed", "text": "one"} in events
    assert {"type": "message", "role": "assistant", "content": "a"} in events
    assert {"type": "tool_result", "name": "f", "result": 1} in events

    def broken(event):
        raise ValueError("the watcher")

    with pytest.raises(ValueError, match="the watcher"):
        ran(script, by=by, model=lambda m: "a", tools=tools, on_event=broken)


ERRORS = [
    ("no/such/script", {}, ScriptError, "script.not_found"),
    ("user: q\n$nonsense: 1\n", {}, ScriptError, "script.not_found"),
    ("user: q\n", {"limits": {"model_calls": 0}}, LimitError, "script.limit"),
    ("user: q\n", {"limits": {"nonsense": 1}}, OptionError, "option.value"),
    ("user: q\n", {"abilities": ["flying"]}, OptionError, "option.value"),
    ("user: q\n", {"search": "folder"}, OptionError, "option.value"),
    ("user: q\n", {"nonsense": 1}, OptionError, "option.value"),
    ("user: q\n", {"model": None}, OptionError, "option.value"),
    ("user: q\n", {"tools": {"f": 1}}, OptionError, "option.value"),
    ("---\ninput: [{a: {required: true}}]\n---\nuser: q\n", {}, ScriptError, "script.input"),
]


@pytest.mark.parametrize(("script", "options", "kind", "code"), ERRORS)
def test_errors(script: str, options: dict[str, object], kind: type, code: str) -> None:
    with pytest.raises(QuilletError) as raised:
        run(script, **{"model": lambda messages: "a", **options})
    assert type(raised.value) is kind and raised.value.code == code


def test_errors_have_locations(tmp_path: Path) -> None:
    file = tmp_path / "broken.ai.yaml"
    file.write_text('user: fine\n\nuser: "{% if %}"\n')
    with pytest.raises(ScriptError) as raised:
        run(file, model=lambda messages: "a")
    error = raised.value
    assert error.line == 3 and error.column and str(file) in error.source and error.diagnostics
