"""Sends requests with OpenAI's published Python SDK."""

import json
import os

import openai
from openai import OpenAI
from pydantic import BaseModel

BASE = os.environ["BASE_URL"]
client = OpenAI(base_url=BASE, api_key="right", max_retries=0)
HELLO = [{"role": "user", "content": "Hello"}]
WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": WEATHER}}]


def raises(kind, ask):
    try:
        ask()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


def chat():
    answer = client.chat.completions.create(model="fake-text-2", messages=HELLO)
    assert answer.choices[0].message.content == "word0 word1 ", answer
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage.total_tokens > 0


def chat_stream():
    text, usage = "", None
    stream = client.chat.completions.create(
        model="fake-text-5", messages=HELLO, stream=True, stream_options={"include_usage": True}
    )
    for chunk in stream:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
    assert text == "word0 word1 word2 word3 word4 ", text
    assert usage.completion_tokens > 0
    with client.chat.completions.stream(model="fake-text-2", messages=HELLO) as events:
        for _ in events:
            pass
        assert events.get_final_completion().choices[0].message.content == "word0 word1 "


def chat_tools():
    messages = list(HELLO)
    first = client.chat.completions.create(model="fake-tool-1", messages=messages, tools=TOOLS)
    assert first.choices[0].finish_reason == "tool_calls"
    message = first.choices[0].message
    call = message.tool_calls[0]
    assert json.loads(call.function.arguments) == {"city": "Paris"}
    messages += [message, {"role": "tool", "tool_call_id": call.id, "content": "sunny"}]
    second = client.chat.completions.create(model="fake-tool-1", messages=messages, tools=TOOLS)
    assert second.choices[0].message.content.startswith("word0 "), second
    with client.chat.completions.stream(model="fake-tool-1", messages=HELLO, tools=TOOLS) as events:
        for _ in events:
            pass
        final = events.get_final_completion()
    assert final.choices[0].message.tool_calls[0].function.name == "get_weather"


def structured():
    class City(BaseModel):
        city: str
        people: int

    answer = client.chat.completions.parse(model="scripted-json", messages=HELLO, response_format=City)
    assert answer.choices[0].message.parsed == City(city="Paris", people=2), answer
    answer = client.responses.parse(model="scripted-json", input="Hello", text_format=City)
    assert answer.output_parsed == City(city="Paris", people=2), answer


def images():
    parts = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ]
    answer = client.chat.completions.create(
        model="scripted-echo", messages=[{"role": "user", "content": parts}]
    )
    assert "data:image/png;base64,AAAA" in answer.choices[0].message.content, answer


def models():
    names = [model.id for model in client.models.list()]
    assert "prompt/review" in names and "agent/support" in names, names
    assert client.models.retrieve("prompt/review").owned_by == "quillet"


def stored():
    answer = client.chat.completions.create(
        model="prompt/review", messages=HELLO, extra_body={"variables": {"repo": "quillet"}}
    )
    assert answer.model == "prompt/review" and answer.choices[0].message.content, answer
    answer = client.chat.completions.create(
        model="prompt/review", messages=HELLO, metadata={"repo": "quillet"}
    )
    assert answer.choices[0].message.content
    answer = client.chat.completions.create(model="agent/support", messages=HELLO)
    message = answer.choices[0].message
    assert message.content.startswith("word0 ") and not message.tool_calls, answer
    answer = client.responses.create(model="agent/plain", input="Hello")
    assert answer.output_text == "42", answer


def responses():
    answer = client.responses.create(model="fake-text-2", instructions="Be kind.", input="Hello")
    assert answer.output_text == "word0 word1 ", answer
    assert answer.status == "completed" and answer.usage.total_tokens > 0
    second = client.responses.create(
        model="scripted-echo", input="And now?", previous_response_id=answer.id
    )
    assert "word0 word1" in second.output_text and "And now?" in second.output_text, second
    assert "Be kind." not in second.output_text
    assert client.responses.retrieve(answer.id).output_text == "word0 word1 "
    client.responses.delete(answer.id)
    raises(openai.NotFoundError, lambda: client.responses.retrieve(answer.id))
    gone = raises(
        openai.NotFoundError,
        lambda: client.responses.create(model="fake-text-2", input="x", previous_response_id=answer.id),
    )
    assert gone.code == "previous_response_not_found"


def responses_stream():
    kinds = []
    with client.responses.stream(model="fake-reasoning", input="Hello") as events:
        for event in events:
            kinds.append(event.type)
        final = events.get_final_response()
    assert final.output_text == "42", final
    assert final.output[0].type == "reasoning" and final.output[0].summary[0].text == "I should think."
    assert kinds[0] == "response.created" and kinds[-1] == "response.completed", kinds
    assert "response.reasoning_summary_text.delta" in kinds
    cut = client.responses.create(model="fake-length", input="Hello")
    assert cut.status == "incomplete" and cut.incomplete_details.reason == "max_output_tokens", cut


def responses_tools():
    tools = [{"type": "function", "name": "get_weather", "parameters": WEATHER, "strict": True}]
    with client.responses.stream(model="fake-tool-1", input="Hello", tools=tools) as events:
        for _ in events:
            pass
        first = events.get_final_response()
    call = first.output[0]
    assert call.type == "function_call" and json.loads(call.arguments) == {"city": "Paris"}, first
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}
    second = client.responses.create(
        model="fake-tool-1", input=[result], tools=tools, previous_response_id=first.id
    )
    assert second.output_text.startswith("word0 "), second
    again = client.responses.create(
        model="fake-tool-1", tools=tools, store=False,
        input=[*({"role": "user", "content": "Hello"},), *first.output, result],
    )
    assert again.output_text.startswith("word0 "), again


def errors():
    wrong = OpenAI(base_url=BASE, api_key="wrong", max_retries=0)
    raises(openai.AuthenticationError, lambda: wrong.models.list())

    def ask(model, **more):
        return lambda: client.chat.completions.create(**{"model": model, "messages": HELLO, **more})

    missing = raises(openai.NotFoundError, ask("prompt/reviev"))
    assert missing.code == "model_not_found" and "review" in missing.message, missing
    raises(openai.AuthenticationError, ask("fake-fail-401"))
    raises(openai.PermissionDeniedError, ask("fake-fail-403"))
    raises(openai.InternalServerError, ask("fake-fail-500"))
    limit = raises(openai.RateLimitError, ask("fake-fail-429"))
    assert limit.code == "rate_limit_exceeded", limit
    quota = raises(openai.RateLimitError, ask("fake-quota"))
    assert quota.code == "insufficient_quota", quota
    bad = raises(openai.BadRequestError, ask("fake-text-1", messages=[{"role": "x", "content": ""}]))
    assert bad.param == "messages[0].role", bad
    context = raises(openai.BadRequestError, ask("fake-context"))
    assert context.code == "context_length_exceeded", context

    def read(stream):
        for _ in stream:
            pass

    cut = raises(openai.APIError, lambda: read(ask("fake-cut", stream=True)()))
    assert cut.code == "model.cut", cut
    last = None
    for event in client.responses.create(model="fake-cut", input="Hello", stream=True):
        last = event
    assert last.type == "response.failed" and last.response.error.code == "model.cut", last


def leaves():
    stream = client.chat.completions.create(model="fake-text-1000-20ms", messages=HELLO, stream=True)
    for count, _ in enumerate(stream):
        if count == 3:
            break
    stream.close()


STEPS = [
    chat, chat_stream, chat_tools, structured, images, models, stored,
    responses, responses_stream, responses_tools, errors, leaves,
]
for step in STEPS:
    step()
    print("ok", step.__name__)
