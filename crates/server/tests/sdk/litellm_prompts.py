"""Calls a model with LiteLLM, which reads the prompt from this server."""

import json
import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm
from litellm.integrations.generic_prompt_management import GenericPromptManager

BASE = os.environ["BASE_URL"]
manager = GenericPromptManager(api_base=BASE, api_key="sk-admin", prompt_id=None)
litellm.callbacks.append(manager)


def ask(prompt_id, variables):
    answer = litellm.completion(
        model="generic_prompt/gpt-4o-mini", custom_llm_provider="openai", prompt_id=prompt_id,
        prompt_variables=variables, messages=[{"role": "user", "content": "More"}],
        api_base=f"{BASE}/v1", api_key="sk-admin",
    )
    # The provider replies with the received request.
    return json.loads(answer.choices[0].message.content)


asked = ask("greet.hello", {"name": "Ada"})
said = [message["content"] for message in asked["messages"]]
assert said == ["Hello Ada in go", "More"], said
assert asked["model"] == "scripted-a", asked
assert [one["content"] for one in ask("pmpt_hello@1", {"name": "Bob"})["messages"]][0] == "Hello Bob in go"

model, messages, parameters = manager.get_chat_completion_prompt(
    model="x", messages=[], non_default_params={}, prompt_id="greet.hello",
    prompt_variables={"name": "Ada"}, dynamic_callback_params={},
)
assert (model, parameters["temperature"]) == ("scripted-a", 0.5), (model, parameters)

try:
    manager.get_chat_completion_prompt(
        model="x", messages=[], non_default_params={}, prompt_id="nobody", prompt_variables={},
        dynamic_callback_params={},
    )
    raise AssertionError("a prompt that is not there was found")
except Exception as error:
    assert "404" in str(error), error
print("ok all")
