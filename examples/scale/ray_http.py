"""Ray's HTTP processor asks a server for each row: python examples/scale/ray_http.py URL MODEL

URL ends in /v1; MODEL is a model, `prompt/ID` or `agent/NAME`.
"""

import sys

import ray
from ray.data.llm import HttpRequestProcessorConfig, build_processor

url, model = sys.argv[1:]


def asked(row):
    messages = [{"role": "user", "content": row["city"]}]
    return {"city": row["city"], "payload": {"model": model, "messages": messages}}


def answered(row):
    # What the server refuses is an answer, too; its error is a column here.
    answer = row["http_response"]
    error = answer.get("error")
    return {
        "city": row["city"],
        "answer": None if error else " ".join(answer["choices"][0]["message"]["content"].split()),
        "error": error["message"] if error else None,
    }


if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    # The rate is the server's business (`model.requests_per_minute`); a 429 is asked again later.
    config = HttpRequestProcessorConfig(
        url=f"{url}/chat/completions", qps=1000, max_retries=5, batch_size=4, concurrency=1
    )
    processor = build_processor(config, preprocess=asked, postprocess=answered)
    cities = ray.data.from_items([{"city": city} for city in ["Oslo", "Rome", "Lima", "Cairo"]])
    for found in processor(cities).sort("city").take_all():
        print(found["city"], "|", found["answer"], "|", found["error"])
