"""Spark renders prompts in process, batch by batch: python examples/scale/spark_arrow.py [ROWS]"""

import os
import sys

import pyarrow as pa
from prompts import rendered, row
from pyspark.sql import SparkSession


def render_pandas(frames):
    import pandas as pd

    for frame in frames:
        texts, errors = rendered(row(number) for number in frame["id"].tolist())
        yield pd.DataFrame({"prompt": texts, "error": errors})


def render_arrow(batches):
    for batch in batches:
        texts, errors = rendered(row(number) for number in batch["id"].to_pylist())
        columns = [pa.array(texts, pa.string()), pa.array(errors, pa.string())]
        yield pa.RecordBatch.from_arrays(columns, ["prompt", "error"])


if __name__ == "__main__":
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = spark.config("spark.driver.host", "127.0.0.1").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    # The workers find the module beside this file.
    spark.sparkContext.addPyFile(__file__.replace("spark_arrow.py", "prompts.py"))
    reviews = spark.range(rows)
    for name, prompts in [
        ("mapInPandas", reviews.mapInPandas(render_pandas, "prompt string, error string")),
        ("mapInArrow", reviews.mapInArrow(render_arrow, "prompt string, error string")),
    ]:
        prompts = prompts.cache()
        bad = prompts.where("error is not null").collect()
        print(f"{name}: {prompts.where('prompt is not null').count()} prompts, the first:")
        print(prompts.first()["prompt"])
        print(f"{len(bad)} errors, the first: {bad[0]['error']}")
    spark.stop()
