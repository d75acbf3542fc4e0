"""Daft renders a column of prompts in process: python examples/scale/daft_udf.py [ROWS]"""

import sys

import daft
from prompts import rendered, row

BOTH = daft.DataType.struct({"prompt": daft.DataType.string(), "error": daft.DataType.string()})


@daft.func.batch(return_dtype=BOTH)
def render(*columns: daft.Series):
    names = [column.name() for column in columns]
    values = zip(*(column.to_pylist() for column in columns))
    texts, errors = rendered(dict(zip(names, row)) for row in values)
    return [{"prompt": text, "error": error} for text, error in zip(texts, errors)]


if __name__ == "__main__":
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    reviews = daft.from_pylist([row(number) for number in range(rows)])
    prompts = reviews.select(render(*(daft.col(name) for name in reviews.column_names)).unnest())
    prompts = prompts.collect()
    print(prompts.where(daft.col("prompt").not_null()).count_rows(), "prompts, the first:")
    print(prompts.limit(1).to_pylist()[0]["prompt"])
    bad = prompts.where(daft.col("error").not_null()).to_pylist()
    print(len(bad), "errors, the first:", bad[0]["error"])
