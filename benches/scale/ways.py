"""A batch of prompts, rendered with this package and with jinja2. Workers import it by its name."""

import time

import jinja2
from prompts import REVIEW, rendered, row

JINJA2 = jinja2.Environment().from_string(REVIEW.text)


def with_jinja2(rows):
    texts, errors = [], []
    for variables in rows:
        try:
            texts.append(JINJA2.render(variables))
            errors.append(None)
        except Exception as error:
            texts.append(None)
            errors.append(str(error))
    return texts, errors


WAYS = {"quillet": rendered, "jinja2": with_jinja2}


def timed(way, numbers):
    """Columns of a batch, and the CPU that rendering it took."""
    rows = [row(number) for number in numbers]
    began = time.thread_time()
    texts, errors = WAYS[way](rows)
    return texts, errors, time.thread_time() - began
