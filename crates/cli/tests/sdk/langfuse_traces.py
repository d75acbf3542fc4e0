"""Sends traces through Langfuse's Python client as it is published, and reads them back: whole ones
with version 4, their observations with version 5."""

import os

from langfuse import Langfuse, propagate_attributes

client = Langfuse(public_key="any", secret_key="any", base_url=os.environ["BASE_URL"])
api = client.api

created = client.create_prompt(
    name="folder/greeting", prompt="Dear {{name}}", labels=["production"]
)
prompt = client.get_prompt("folder/greeting")
fallback = client.get_prompt("nobody", fallback="Hello")

with client.start_as_current_observation(name="request", input={"q": 1}) as root:
    with propagate_attributes(user_id="ada", session_id="s-1", tags=["a", "b"]):
        client.start_observation(
            as_type="generation", name="ask", prompt=prompt,
            model="m", model_parameters={"temperature": 0.5},
            input=prompt.compile(name="Ada"), output={"said": "Hi"},
            metadata={"a": {"b": 1}, "c": "d"},
            usage_details={"input": 3, "output": 4, "total": 7}, cost_details={"total": 0.25},
        ).end()
        client.start_observation(
            as_type="generation", name="fall", prompt=fallback,
            level="WARNING", status_message="no prompt",
        ).end()
    # What comes later is sent by itself, and is the same trace all the same.
    client.flush()
    client.start_observation(as_type="tool", name="look", input="where").end()
    root.update(output="done")
client.flush()

is_old = hasattr(api.trace, "get")
if is_old:
    trace = api.trace.get(root.trace_id)
    assert trace.id == root.trace_id and trace.name == "request", trace
    assert (trace.input, trace.output) == ({"q": 1}, "done"), trace
    assert (trace.user_id, trace.session_id, sorted(trace.tags)) == ("ada", "s-1", ["a", "b"]), trace
    assert trace.total_cost == 0.25 and trace.latency > 0, trace
    assert trace.environment == "default", trace
    observations = trace.observations
    by_id = api.legacy.observations_v1.get(root.id)
    assert (by_id.id, by_id.name) == (root.id, "request"), by_id
else:
    observations, cursor = [], None
    while True:
        page = api.observations.get_many(trace_id=root.trace_id, limit=3, cursor=cursor)
        observations += page.data
        cursor = page.meta.cursor
        if cursor is None:
            break
    assert api.observations.get_many(trace_id="0" * 32).data == []

found = {one.name: one for one in observations}
assert len(observations) == 4, observations
assert sorted(found) == ["ask", "fall", "look", "request"], list(found)

ask = found["ask"]
version = created.version
assert ask.prompt_id == f"folder%2Fgreeting@{version}", ask
assert (ask.prompt_name, ask.prompt_version) == ("folder/greeting", version), ask
assert (ask.type, ask.model, ask.input) == ("GENERATION", "m", "Dear Ada"), ask
assert ask.output == ({"said": "Hi"} if is_old else '{"said": "Hi"}'), ask
assert ask.model_parameters == {"temperature": 0.5}, ask
assert ask.usage_details == {"input": 3, "output": 4, "total": 7}, ask
assert ask.metadata["c"] == "d" and ask.level == "DEFAULT", ask
assert ask.parent_observation_id == root.id and ask.trace_id == root.trace_id, ask
assert ask.start_time <= ask.end_time, ask

fall = found["fall"]
assert (fall.prompt_id, fall.prompt_name, fall.prompt_version) == (None, None, None), fall
assert (fall.level, fall.status_message) == ("WARNING", "no prompt"), fall
assert (found["look"].type, found["request"].type) == ("TOOL", "SPAN"), found
assert found["request"].parent_observation_id is None, found

for ask_for, why in [
    (lambda: api.observations.get_many(name="ask"), "traceId"),
    (lambda: api.observations.get_many(trace_id=root.trace_id, type="SPAN"), "type"),
]:
    try:
        ask_for()
        raise AssertionError("observations were filtered in a way that there is not")
    except Exception as error:
        assert "400" in str(error) and why in str(error), error
if is_old:
    for ask_for in [lambda: api.trace.get("0" * 32), lambda: api.legacy.observations_v1.get("0" * 16)]:
        try:
            ask_for()
            raise AssertionError("what nobody sent was found")
        except Exception as error:
            assert "LangfuseNotFoundError" in str(error), error
print("ok all")
