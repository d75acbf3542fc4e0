"""Runs batches with OpenAI's published Python SDK."""

import io
import json
import os
import time

import openai
from openai import OpenAI

client = OpenAI(base_url=os.environ["BASE_URL"], api_key="right", max_retries=0)
other = OpenAI(base_url=os.environ["BASE_URL"], api_key="other", max_retries=0)
ENDED = {"completed", "failed", "expired", "cancelled"}


def row(name, body, url="/v1/chat/completions"):
    return {"custom_id": name, "method": "POST", "url": url, "body": body}


def chat(name, model, **more):
    return row(name, {"model": model, "messages": [{"role": "user", "content": name}], **more})


def upload(rows):
    text = "".join(json.dumps(one) + "\n" for one in rows)
    return client.files.create(file=("rows.jsonl", text.encode()), purpose="batch")


def begin(rows, endpoint="/v1/chat/completions", **more):
    file = upload(rows)
    return client.batches.create(
        input_file_id=file.id, endpoint=endpoint, completion_window="24h", **more
    )


def wait(batch):
    for _ in range(600):
        batch = client.batches.retrieve(batch.id)
        if batch.status in ENDED:
            return batch
        time.sleep(0.05)
    raise AssertionError(batch)


def lines(id):
    return [json.loads(line) for line in client.files.content(id).text.splitlines()]


def refused(kind, call):
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"{kind} was not raised")


# Files.
file = upload([chat("a", "scripted-1")])
assert file.object == "file" and file.purpose == "batch" and file.filename == "rows.jsonl", file
assert file.bytes > 100 and file.status == "processed" and file.expires_at > file.created_at, file
assert client.files.retrieve(file.id) == file
assert json.loads(client.files.content(file.id).text) == chat("a", "scripted-1")
second = client.files.create(
    file=io.BytesIO(b"{}\n"), purpose="batch",
    expires_after={"anchor": "created_at", "seconds": 3600},
)
assert second.expires_at - second.created_at == 3600, second
assert [one.id for one in client.files.list()] == [second.id, file.id]
assert [one.id for one in client.files.list(order="asc", limit=1)] == [file.id, second.id]
assert list(client.files.list(purpose="batch_output")) == []
assert list(other.files.list()) == []
refused(openai.NotFoundError, lambda: other.files.retrieve(file.id))
refused(openai.NotFoundError, lambda: other.files.content(file.id))
refused(openai.NotFoundError, lambda: other.files.delete(file.id))
assert client.files.delete(second.id).deleted is True
refused(openai.NotFoundError, lambda: client.files.retrieve(second.id))
wrong = refused(openai.BadRequestError, lambda: client.files.create(file=b"{}", purpose="assistants"))
assert wrong.param == "purpose", wrong

# A batch with successful and failed requests.
rows = [chat(f"row {n}", "scripted-1", temperature=0.5) for n in range(40)]
rows += [
    row("prompt", {"model": "prompt/review", "variables": {"repo": "quillet"}, "messages": []}),
    chat("agent", "agent/scripted"),
    row("lacking", {"model": "prompt/review", "messages": []}),
    chat("nobody", "prompt/nobody"),
    chat("refused", "fake-fail-401"),
]
batch = begin(rows, metadata={"job": "7"})
assert batch.object == "batch" and batch.status in {"validating", "in_progress"}, batch
assert batch.endpoint == "/v1/chat/completions" and batch.completion_window == "24h", batch
assert batch.metadata == {"job": "7"} and batch.expires_at - batch.created_at == 86400, batch
batch = wait(batch)
assert batch.status == "completed", batch
counts = batch.request_counts
assert (counts.total, counts.completed, counts.failed) == (45, 42, 3), batch
assert batch.in_progress_at and batch.finalizing_at and batch.completed_at, batch
assert batch.errors is None and batch.quillet == {"asked_again": 0}, batch
done = lines(batch.output_file_id)
assert [one["custom_id"] for one in done] == [one["custom_id"] for one in rows[:42]], done
assert len({one["id"] for one in done}) == 42
for one, asked in zip(done[:40], rows):
    assert set(one) == {"id", "custom_id", "response", "error"} and one["error"] is None, one
    assert set(one["response"]) == {"status_code", "request_id", "body"}, one
    assert one["response"]["status_code"] == 200 and one["response"]["request_id"], one
    said = one["response"]["body"]["choices"][0]["message"]["content"]
    assert json.loads(said) == asked["body"]["messages"], one
assert done[40]["response"]["body"]["model"] == "prompt/review", done[40]
failed = {one["custom_id"]: one for one in lines(batch.error_file_id)}
assert set(failed) == {"lacking", "nobody", "refused"}, failed
assert failed["lacking"]["error"] is None, failed
assert failed["lacking"]["response"]["status_code"] == 400, failed
assert failed["nobody"]["response"]["status_code"] == 404, failed
assert failed["nobody"]["response"]["body"]["error"]["code"] == "model_not_found", failed
assert failed["refused"]["response"]["status_code"] == 401, failed
output = client.files.retrieve(batch.output_file_id)
assert output.purpose == "batch_output" and output.bytes == len(
    client.files.content(output.id).read()
), output
refused(openai.NotFoundError, lambda: other.batches.retrieve(batch.id))
refused(openai.NotFoundError, lambda: other.batches.cancel(batch.id))
refused(openai.NotFoundError, lambda: other.files.content(batch.output_file_id))
refused(
    openai.NotFoundError,
    lambda: other.batches.create(
        input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h"
    ),
)
assert refused(openai.ConflictError, lambda: client.batches.cancel(batch.id)).code == "batch_ended"

# Responses.
answers = wait(
    begin(
        [row(f"r{n}", {"model": "scripted-1", "input": "Hi"}, "/v1/responses") for n in range(3)],
        endpoint="/v1/responses",
    )
)
assert answers.status == "completed" and answers.request_counts.completed == 3, answers
for one in lines(answers.output_file_id):
    body = one["response"]["body"]
    assert body["object"] == "response" and body["status"] == "completed" and not body["store"], one

# Invalid input.
text = [
    json.dumps(chat("a", "scripted-1")),
    "nonsense",
    json.dumps(chat("a", "scripted-1")),
    "",
    json.dumps(row("b", {}, "/v1/embeddings")),
]
bad = client.files.create(file="\n".join(text).encode(), purpose="batch")
bad = wait(
    client.batches.create(
        input_file_id=bad.id, endpoint="/v1/chat/completions", completion_window="24h"
    )
)
assert bad.status == "failed" and bad.failed_at and bad.output_file_id is None, bad
found = [(one.line, one.code) for one in bad.errors.data]
assert found == [
    (2, "invalid_json_line"), (3, "duplicate_custom_id"), (5, "mismatched_url")
], bad
assert "line 1" in bad.errors.data[1].message, bad
for more in [
    {"endpoint": "/v1/embeddings"},
    {"completion_window": "soon"},
    {"input_file_id": "file-0"},
    {"metadata": {"a": "x" * 513}},
]:
    asked = {
        "input_file_id": file.id, "endpoint": "/v1/chat/completions", "completion_window": "24h",
        **more,
    }
    wrong = refused(openai.APIStatusError, lambda: client.batches.create(**asked))
    assert wrong.status_code in {400, 404}, wrong
    assert list(more)[0].split("_")[0] in str(wrong.param), wrong

# A running batch protects its input file and can be cancelled.
slow = begin([chat(f"s{n}", "slow") for n in range(100)])
while client.batches.retrieve(slow.id).status != "in_progress":
    time.sleep(0.02)
held = refused(openai.ConflictError, lambda: client.files.delete(slow.input_file_id))
assert held.code == "file_in_use", held
started = time.monotonic()
assert client.batches.cancel(slow.id).status in {"cancelling", "cancelled"}
slow = wait(slow)
assert slow.status == "cancelled" and slow.cancelled_at and slow.cancelling_at, slow
assert time.monotonic() - started < 1, "it stops within a second"
assert slow.request_counts.total == 100 and slow.request_counts.completed == 0, slow
assert client.files.delete(slow.input_file_id).deleted

# Lists.
mine = [one.id for one in client.batches.list(limit=1)]
assert mine[:3] == [slow.id, bad.id, answers.id] and mine[-1] == batch.id and len(mine) == 4, mine
assert list(other.batches.list()) == []
print("ok leaves")
