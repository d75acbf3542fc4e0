"""Reads and writes prompts with Langfuse's published Python client."""

import os

from langfuse import Langfuse

BASE = os.environ["BASE_URL"]
client = Langfuse(public_key="admin", secret_key="sk-admin", base_url=BASE, tracing_enabled=False)

assert client.auth_check()

first = client.create_prompt(
    name="folder/greeting", prompt="Dear {{name}}, {{ \"x\": 1 }}", labels=["production"],
    tags=["t"], config={"temperature": 0.5}, commit_message="first",
)
assert (first.version, first.labels) == (1, ["production", "latest"]), first.labels
second = client.create_prompt(name="folder/greeting", prompt="Hi {{name}}")
assert (second.version, second.tags) == (2, ["t"]), second.tags
got = client.get_prompt("folder/greeting")
assert got.version == 1 and got.config == {"temperature": 0.5} and got.commit_message == "first"
assert got.compile(name="<{{b}}>") == "Dear <{{b}}>, {{ \"x\": 1 }}", got.compile(name="x")
assert client.get_prompt("folder/greeting", label="latest").prompt == "Hi {{name}}"
client.update_prompt(name="folder/greeting", version=2, new_labels=["production"])
assert client.get_prompt("folder/greeting", cache_ttl_seconds=0).version == 2

chat = client.create_prompt(
    name="chat", type="chat", labels=["production"],
    prompt=[
        {"role": "system", "content": "Be {{mood}}."},
        {"type": "placeholder", "name": "history"},
    ],
)
compiled = client.get_prompt("chat", type="chat").compile(
    mood="kind", history=[{"role": "user", "content": "Hello"}]
)
assert [one["content"] for one in compiled] == ["Be kind.", "Hello"], compiled

# A prompt of this server in another format, with a shared variable.
greet = client.get_prompt("greet.hello")
assert greet.compile(name="Ada") == "Hello Ada in go", greet.prompt
assert greet.config["model"] == "scripted-a"

fallback = client.get_prompt("nobody", fallback="else {{x}}")
assert fallback.is_fallback and fallback.compile(x=1) == "else 1"
try:
    client.get_prompt("hard", max_retries=0)
    raise AssertionError("a prompt with a condition was given out")
except Exception as error:
    assert "hard.prompt:2:6" in str(error), error

listed = client.api.prompts.list(tag="t")
assert [one.name for one in listed.data] == ["folder/greeting"], listed
assert listed.data[0].versions == [1, 2], listed
client.api.prompts.delete("folder%2Fgreeting", version=1)
assert client.api.prompts.list(name="folder/greeting").data[0].versions == [2]
print("ok all")
