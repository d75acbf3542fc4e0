"""CPU time of a piece of work, in nanoseconds."""

import time

BATCHES = 7
BATCH = 0.03


def nanoseconds(work):
    """The best of some batches, each long enough for the clock; what disturbs only makes it worse."""
    count = 1
    while batch(work, count) < BATCH and count < 1_000_000:
        count *= 2
    return min(batch(work, count) for _ in range(BATCHES)) / count * 1e9


def batch(work, count):
    start = time.process_time()
    for _ in range(count):
        work()
    return time.process_time() - start
