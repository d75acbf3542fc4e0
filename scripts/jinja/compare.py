"""Renders templates with Python's jinja2 and with Quillet, and prints where they differ, grouped by kind.

    compare.py BINARY COUNT SEED [--save FILE]

BINARY is the example `jinja` of quillet-template. `--save` writes the differences as vectors.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import time
from datetime import datetime

import jinja2
import jinja2.ext
import jinja2.nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedEnvironment

import grammar

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What differs from one run to the next.
UNSTABLE = re.compile(r" at 0x|<generator|<filter|<map|<built-in|<bound method|<method|<function|<class|<jinja2|<Macro|<Cycler|<Joiner|<Loop|<reversed|<dict_")


class Generation(jinja2.ext.Extension):
    """The tag that marks what the assistant said; transformers' own records the places as well."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    @staticmethod
    def _body(caller):
        return caller()


def hugging_face():
    """The environment of transformers' chat templates."""
    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = lambda format: datetime.now().strftime(format)
    return environment


def python(environment, template, data):
    data = json.loads(json.dumps(data))  # Some filters change what they get.
    try:
        return {"text": environment.from_string(template).render(**data)}
    except Exception as error:  # Whatever it is, the template fails.
        return {"error": f"{type(error).__name__}: {error}"}


def quillet(binary, cases):
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    out = subprocess.run([binary], input=lines, capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def cases(count, seed):
    datasets = json.loads((ROOT / "conformance" / "jinja2.json").read_text())["datasets"]
    chats = {name: data for name, data in datasets.items() if "messages" in data}
    for path in sorted(pathlib.Path(__file__).with_name("chat").glob("*.jinja")):
        for name, data in chats.items():
            for more in [{}, {"add_generation_prompt": False}, {"tools": TOOLS}]:
                yield {"group": f"chat/{path.stem}", "preset": "hf", "template": path.read_text(), "data": {**data, **more}}
    chance = random.Random(seed)
    for _ in range(count):
        preset = chance.choice(["hf", "hf", "plain"])
        template = grammar.Grammar(chance, preset == "hf").template()
        yield {"group": "random", "preset": preset, "template": template, "data": datasets["ds1"]}


TOOLS = [{"type": "function", "function": {
    "name": "get_weather", "description": "Weather <now> & later",
    "parameters": {"type": "object", "required": ["city"], "properties": {
        "city": {"type": "string", "description": "Größe"}, "days": {"type": ["integer", "null"], "enum": [1, 2.5, None, True]}}}}}]


def kind(theirs, ours):
    """What sort of difference it is; `None` if it is none."""
    if "text" in theirs and "text" in ours:
        return None if theirs["text"] == ours["text"] else "the text differs"
    if "error" in theirs and "error" in ours:
        return None
    side, message = ("jinja2", theirs["error"]) if "error" in theirs else ("Quillet", ours["error"].split(": ", 1)[-1])
    return f"only {side} fails: " + re.sub(r"'[^']*'|\"[^\"]*\"|\d+", "…", message)[:90]


def main():
    arguments = argparse.ArgumentParser(usage=__doc__)
    arguments.add_argument("binary")
    arguments.add_argument("count", type=int)
    arguments.add_argument("seed", type=int)
    arguments.add_argument("--save")
    arguments = arguments.parse_args()
    # Python builds what it is told to; ours has limits of its own.
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, resource.RLIM_INFINITY))
    os.environ["TZ"] = "UTC"
    time.tzset()
    environments = {"hf": hugging_face(), "plain": SandboxedEnvironment()}
    compared, groups = [], collections.defaultdict(list)
    wanted = list(cases(arguments.count, arguments.seed))
    for case in wanted:
        case["theirs"] = python(environments[case["preset"]], case["template"], case["data"])
    wanted = [case for case in wanted if not UNSTABLE.search(case["theirs"].get("text", ""))]
    asked = [{key: case[key] for key in ("template", "preset", "data")} for case in wanted]
    for case, ours in zip(wanted, quillet(arguments.binary, asked), strict=True):
        case["ours"] = ours
        case["kind"] = kind(case["theirs"], ours)
        compared.append(case)
        if case["kind"]:
            groups[case["kind"]].append(case)
    report(compared, groups)
    if arguments.save:
        save(arguments.save, groups)
    return 0 if len(compared) - sum(map(len, groups.values())) >= 0.99 * len(compared) else 1


def report(compared, groups):
    for name, members in sorted(groups.items(), key=lambda group: -len(group[1])):
        print(f"{len(members)} x {name}")
        for case in sorted(members, key=lambda case: len(case["template"]))[:6]:
            print(f"    {case['preset']} {case['template'][:300]!r}")
            print(f"      jinja2  {next(iter(case['theirs'].values()))[:300]!r}")
            print(f"      Quillet {next(iter(case['ours'].values()))[:300]!r}")
    for part in ["chat", "random"]:
        members = [case for case in compared if case["group"].startswith(part)]
        same = sum(case["kind"] is None for case in members)
        failed = sum("error" in case["theirs"] for case in members)
        print(f"{part}: {same} of {len(members)} the same ({100 * same / max(1, len(members)):.2f} %), {failed} of them errors")


def save(path, groups):
    found = [case for members in groups.values() for case in members]
    found = [{key: case[key] for key in ("template", "preset", "theirs", "group")} for case in found]
    pathlib.Path(path).write_text(json.dumps(found, ensure_ascii=False, indent=1))


sys.exit(main())
