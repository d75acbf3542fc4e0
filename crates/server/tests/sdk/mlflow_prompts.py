"""Reads and writes prompts with MLflow's published client."""

import os

os.environ["MLFLOW_TRACKING_TOKEN"] = "sk-admin"
os.environ["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] = "0"

import mlflow
from mlflow.exceptions import MlflowException

mlflow.set_tracking_uri(os.environ["BASE_URL"])
mlflow.set_registry_uri(os.environ["BASE_URL"])

first = mlflow.genai.register_prompt(
    name="greeting", template="Dear {{name}}", commit_message="first", tags={"team": "a"}
)
assert first.version == 1, first
second = mlflow.genai.register_prompt(name="greeting", template="Hi {{name}}", tags={"team": "b"})
assert second.version == 2, second
mlflow.genai.set_prompt_alias("greeting", alias="production", version=1)
got = mlflow.genai.load_prompt("prompts:/greeting@production")
assert (got.version, got.format(name="Ada")) == (1, "Dear Ada"), got
assert got.tags == {"team": "a"} and got.commit_message == "first", got
assert mlflow.genai.load_prompt("prompts:/greeting/2").format(name="Ada") == "Hi Ada"
assert mlflow.genai.load_prompt("prompts:/greeting@latest").version == 2

chat = mlflow.genai.register_prompt(
    name="chat", template=[{"role": "system", "content": "Be {{mood}}."}]
)
got = mlflow.genai.load_prompt("chat", version=1)
assert got.format(mood="kind") == [{"role": "system", "content": "Be kind."}], got

# A prompt of this server in another format, with a shared variable.
got = mlflow.genai.load_prompt("prompts:/greet.hello/1")
assert got.format(name="Ada") == "Hello Ada in go", got.template

jinja = mlflow.genai.register_prompt(name="jinja", template="{% if a %}{{ a }}{% else %}none{% endif %}")
assert mlflow.genai.load_prompt("prompts:/jinja/1").format(a="x") == "x"

mlflow.genai.delete_prompt_alias("greeting", alias="production")
for missing in ["prompts:/greeting@production", "prompts:/greeting/9", "prompts:/nobody/1"]:
    try:
        found = mlflow.genai.load_prompt(missing)
        raise AssertionError(f"{missing} was found: {found}")
    except MlflowException as error:
        assert error.error_code == "RESOURCE_DOES_NOT_EXIST", error
print("ok all")
