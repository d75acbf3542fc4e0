"""Uses a stored prompt with OpenAI's published Python SDK."""

import json
import os

import openai
from openai import OpenAI

client = OpenAI(base_url=f"{os.environ['BASE_URL']}/v1", api_key="sk-admin", max_retries=0)
PROMPT = {"id": "pmpt_hello", "version": "1", "variables": {"name": "Ada"}}


def said(text):
    return [message["content"] for message in json.loads(text)["messages"]]


answer = client.responses.create(prompt=PROMPT)
assert said(answer.output_text) == ["Hello Ada in go"], answer
assert answer.model == "scripted-a" and answer.prompt.id == "pmpt_hello", answer
assert answer.prompt.version == "1" and answer.prompt.variables == {"name": "Ada"}, answer

answer = client.responses.create(prompt=PROMPT, input="More", model="scripted-b")
assert said(answer.output_text) == ["Hello Ada in go", "More"], answer
assert json.loads(answer.output_text)["model"] == "scripted-b"

text, last = "", None
for event in client.responses.create(prompt=PROMPT, input="More", stream=True):
    if event.type == "response.output_text.delta":
        text += event.delta
    last = event
assert said(text) == ["Hello Ada in go", "More"], text
assert last.type == "response.completed" and last.response.prompt.id == "pmpt_hello", last
with client.responses.stream(prompt=PROMPT, input="More", model="scripted-b") as events:
    for _ in events:
        pass
    assert said(events.get_final_response().output_text) == ["Hello Ada in go", "More"]

image = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "auto"}
answer = client.responses.create(prompt={"id": "look", "variables": {"question": "What?", "image": image}})
assert said(answer.output_text)[1][1]["type"] == "image_url", answer

chat = client.chat.completions.create(
    model="scripted-b", messages=[{"role": "user", "content": "More"}],
    extra_body={"prompt_id": "greet.hello", "prompt_label": "latest", "prompt_variables": {"name": "Bob"}},
)
assert said(chat.choices[0].message.content) == ["Hello Bob in go", "More"], chat

for prompt, kind in [
    ({"id": "pmpt_nobody"}, openai.NotFoundError),
    ({"id": "pmpt_hello", "version": "9"}, openai.NotFoundError),
    ({"id": "pmpt_hello"}, openai.BadRequestError),
]:
    try:
        client.responses.create(prompt=prompt)
        raise AssertionError(f"{prompt} was answered")
    except kind:
        pass
print("ok all")
