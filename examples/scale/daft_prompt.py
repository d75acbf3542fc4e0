"""Daft asks a server for each row: python examples/scale/daft_prompt.py URL MODEL

URL ends in /v1; MODEL is a model, `prompt/ID` or `agent/NAME`.
"""

import sys

import daft
from daft.ai.openai.provider import OpenAIProvider
from daft.functions import prompt

url, model = sys.argv[1:]
server = OpenAIProvider(base_url=url, api_key="no-key-is-needed-here")
cities = daft.from_pydict({"city": ["Oslo", "Rome", "Lima", "Cairo"]})
answers = cities.with_column(
    "answer", prompt(daft.col("city"), provider=server, model=model, on_error="ignore")
)
for found in answers.sort("city").to_pylist():
    print(found["city"], "|", found["answer"] and " ".join(found["answer"].split()))
