"""What engines of many machines cost beside a plain loop, with this package and with jinja2.

    python benches/scale/measure.py ROWS [loop|daft|ray|spark]…

Of each way: seconds on the wall, seconds of CPU that rendering alone took, wherever it ran, and those
of all processes together: the difference is the engine's own, making the rows included. Workers run
already. Where the machine has other work, compare the CPU. Linux only.
"""

import os
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDERS = [str(HERE), str(HERE.parents[1] / "examples" / "scale")]
sys.path[:0] = FOLDERS
os.environ["PYTHONPATH"] = ":".join(FOLDERS)

MARK = f"QUILLET_MEASURE={os.getpid()}"
os.environ["QUILLET_MEASURE"] = str(os.getpid())

from ways import WAYS, timed  # noqa: E402

BATCH = 5000


def loop(way, count):
    prompts = bad = cpu = 0
    for start in range(0, count, BATCH):
        texts, errors, spent = timed(way, range(start, min(start + BATCH, count)))
        cpu += spent
        bad += sum(error is not None for error in errors)
        prompts += sum(text is not None for text in texts)
    return prompts, bad, cpu


def daft(way, count):
    import daft

    kinds = {
        "prompt": daft.DataType.string(),
        "error": daft.DataType.string(),
        "cpu": daft.DataType.float64(),
    }

    @daft.func.batch(return_dtype=daft.DataType.struct(kinds), batch_size=BATCH)
    def render(numbers: daft.Series):
        texts, errors, cpu = timed(way, numbers.to_pylist())
        rows = zip(texts, errors, [cpu] + [0.0] * (len(texts) - 1))
        return [{"prompt": text, "error": error, "cpu": cpu} for text, error, cpu in rows]

    frame = daft.from_pydict({"id": list(range(count))})
    frame = frame.select(render(daft.col("id")).unnest())
    sums = frame.agg(
        daft.col("prompt").count(), daft.col("error").count(), daft.col("cpu").sum()
    ).to_pylist()[0]
    return sums["prompt"], sums["error"], sums["cpu"]


def ray(way, count, workers):
    import ray

    def render(batch):
        texts, errors, cpu = timed(way, batch["id"].tolist())
        return {
            "prompts": [sum(text is not None for text in texts)],
            "bytes": [sum(len(text or "") for text in texts)],
            "bad": [sum(error is not None for error in errors)],
            "cpu": [cpu],
        }

    numbers = ray.data.range(count, override_num_blocks=max(1, count // (4 * BATCH)))
    pool = ray.data.TaskPoolStrategy(size=workers)
    found = numbers.map_batches(render, batch_size=BATCH, compute=pool).take_all()
    return tuple(sum(batch[name] for batch in found) for name in ("prompts", "bad", "cpu"))


def spark(session, way, count):
    import pyarrow as pa

    def render(batches):
        for batch in batches:
            texts, errors, cpu = timed(way, batch["id"].to_pylist())
            spent = [cpu] + [0.0] * (len(texts) - 1)
            columns = [pa.array(texts, pa.string()), pa.array(errors, pa.string()), pa.array(spent)]
            yield pa.RecordBatch.from_arrays(columns, ["prompt", "error", "cpu"])

    frame = session.range(count).mapInArrow(render, "prompt string, error string, cpu double")
    return tuple(frame.selectExpr("count(prompt)", "count(error)", "sum(cpu)").first())


def all_cpu():
    """Seconds of CPU of this process and of all that it, or an engine for it, has started."""
    ticks = 0
    for process in Path("/proc").iterdir():
        try:
            marked = MARK.encode() in (process / "environ").read_bytes().split(b"\0")
            if marked or process.name == str(os.getpid()):
                fields = (process / "stat").read_text().rsplit(")", 1)[1].split()
                ticks += sum(int(field) for field in fields[11:15])
        except OSError:
            continue
    return ticks / os.sysconf("SC_CLK_TCK")


def say(name, way, measure):
    before, began = all_cpu(), time.perf_counter()
    prompts, bad, cpu = measure()
    wall, whole = time.perf_counter() - began, all_cpu() - before
    print(
        f"{name:<17} {way:<8} {prompts:>8} {bad:>6} {wall:>7.1f} {cpu:>14.1f} {whole:>10.1f}",
        flush=True,
    )


def main():
    count, engines = int(sys.argv[1]), sys.argv[2:] or ["loop", "daft", "ray", "spark"]
    print("engine            renders   prompts errors  wall s  CPU rendering  CPU in all")
    if "loop" in engines:
        for way in WAYS:
            say("plain loop", way, lambda: loop(way, count))
    if "daft" in engines:
        for way in WAYS:
            say("Daft", way, lambda: daft(way, count))
    if "ray" in engines:
        import ray as engine

        environment = {"env_vars": {"PYTHONPATH": os.environ["PYTHONPATH"]}}
        engine.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env=environment)
        engine.data.DataContext.get_current().enable_progress_bars = False
        # The first use starts the workers.
        ray("quillet", 4 * BATCH, 2)
        for workers in (1, 2):
            for way in WAYS:
                say(f"Ray, {workers} worker(s)", way, lambda: ray(way, count, workers))
        engine.shutdown()
    if "spark" in engines:
        from pyspark.sql import SparkSession

        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        session = session.config("spark.driver.host", "127.0.0.1").getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        spark(session, "quillet", BATCH)
        for way in WAYS:
            say("Spark, 2 workers", way, lambda: spark(session, way, count))
        session.stop()


if __name__ == "__main__":
    main()
