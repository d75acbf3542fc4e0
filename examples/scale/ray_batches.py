"""Ray Data renders prompts in process, on all workers: python examples/scale/ray_batches.py [ROWS]"""

import sys

import ray
from prompts import rendered, row


def render(batch):
    texts, errors = rendered(batch["id"].map(row))
    return {"prompt": texts, "error": errors}


if __name__ == "__main__":
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    reviews = ray.data.range(rows, override_num_blocks=4)
    prompts = reviews.map_batches(render, batch_format="pandas", batch_size=None)
    found = prompts.take_all()
    bad = [row["error"] for row in found if row["error"] is not None]
    print(len(found) - len(bad), "prompts, the first:")
    print(found[0]["prompt"])
    print(len(bad), "errors, the first:", bad[0])
