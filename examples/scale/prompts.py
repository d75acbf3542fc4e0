"""What the examples of this folder have in common: a prompt, rows for it, and one that is bad."""

from quillet_engine import Template

REVIEW = Template(
    "Judge in one word whether the buyer of {{ product }} is content.\n"
    "{% if stars is number %}Stars: {{ '*' * stars }}\n{% endif %}"
    "Review: {{ text | trim }} ({{ (words / pages) | round(1) }} words a page)"
)


def row(number):
    """A review; every thousandth was printed on no page at all, by which nothing can be divided."""
    return {
        "product": f"kettle {number % 7}",
        "stars": number % 5 + 1,
        "text": " It boils, and that quickly. ",
        "words": 5 + number % 3,
        "pages": 0 if number % 1000 == 999 else 1,
    }


def rendered(rows):
    """Two columns, ``prompt`` and ``error``: of each row one of the two is None."""
    texts, errors = REVIEW.render_batch(rows)
    return texts, [None if error is None else str(error) for error in errors]
