"""Says what a new table of models changes: which models came, went, or got another end.

Usage: changes.py BEFORE AFTER
"""

import os
import sys

from table import read


def main(before, after):
    table = read(after)
    old = {row["id"]: row for row in read(before)["models"]} if os.path.exists(before) else {}
    new = {row["id"]: row for row in table["models"]}
    print(f"LiteLLM {table['litellm']} of {table['day']}: {len(new)} models, {os.path.getsize(after)} bytes")
    say("came", sorted(new.keys() - old.keys()))
    say("went", sorted(old.keys() - new.keys()))
    ends = {name: new[name].get("ends", "never") for name in sorted(new.keys() & old.keys())}
    changed = [f"{name} {day}" for name, day in ends.items() if day != old[name].get("ends", "never")]
    say("ends", changed)


def say(what, names):
    if names:
        print(f"{what}: {', '.join(names)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
