"""The package for Python beside jinja2: each line is `what TAB quillet TAB jinja2 TAB unit TAB aim`.

    python measure.py WHEEL
"""

import functools
import gc
import itertools
import multiprocessing
import pathlib
import subprocess
import sys
import threading
import time

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

from quillet_engine import Template

FIVE = (
    "You are {{ role }}, and speak {{ language }}.\n"
    "Today is {{ day }}. The user is {{ name }} of {{ city }}."
)
FIVE_GIVEN = {"role": "a guide", "language": "Danish", "day": "Monday", "name": "Ada", "city": "Aarhus"}

CHAT = """\
{%- if tools %}
<|im_start|>system
You may call these tools:
{%- for tool in tools %}
- {{ tool.function.name }}: {{ tool.function.description }}
  {%- for name, parameter in tool.function.parameters.properties.items() %}
    {{ name }} ({{ parameter.type }}){% if name in tool.function.parameters.required %}, required{% endif %}
  {%- endfor %}
{%- endfor %}
<|im_end|>
{% endif %}
{%- for message in messages %}
<|im_start|>{{ message.role }}
{{ message.content | trim }}<|im_end|>
{%- endfor %}
{%- if add_generation_prompt %}
<|im_start|>assistant
{% endif %}
"""


def chat(messages, tools=8):
    """A conversation, and tools."""
    roles = ("user", "assistant")
    return {
        "messages": [
            {"role": roles[i % 2], "content": f" Message {i} of this talk, in which a few words are said. "}
            for i in range(messages)
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": f"tool_{i}",
                    "description": "Says what the weather is in a city.",
                    "parameters": {
                        "type": "object",
                        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
                        "required": ["city"],
                    },
                },
            }
            for i in range(tools)
        ],
        "add_generation_prompt": True,
    }


# Of transformers, so that both give the same text.
ENVIRONMENT = ImmutableSandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, cache_size=0, extensions=[jinja2.ext.loopcontrols]
)


def microseconds(work, seconds=0.4, rounds=5):
    """CPU time of one call, the best of a few rounds."""
    work()
    begun = time.thread_time()
    work()
    count = max(1, int(seconds / rounds / max(time.thread_time() - begun, 1e-7)))
    gc.collect()
    gc.disable()
    best = float("inf")
    for _ in range(rounds):
        begun = time.thread_time()
        for _ in range(count):
            work()
        best = min(best, (time.thread_time() - begun) / count)
    gc.enable()
    return best * 1e6


def row(what, ours, theirs, unit, aim):
    cells = [what, f"{ours:.4g}", "" if theirs is None else f"{theirs:.4g}", unit, aim]
    print(*cells, sep="\t", flush=True)


def renders():
    for what, text, given, aim in (
        ("render, one variable", "Hi {{ name }}!", {"name": "Ada"}, ""),
        ("render, five variables", FIVE, FIVE_GIVEN, "2"),
        ("render, chat of 20 messages", CHAT, chat(20, 0), "15"),
        ("render, chat of 50 messages", CHAT, chat(50, 0), ""),
        ("render, chat of 20 messages and 8 tools", CHAT, chat(20), "15"),
    ):
        ours, theirs = Template(text), ENVIRONMENT.from_string(text)
        assert ours.render(given) == theirs.render(given), what
        row(what, microseconds(lambda: ours.render(given)), microseconds(lambda: theirs.render(given)), "µs", aim)
    # A template remembers what it was given last; here nothing is as the last time.
    others = itertools.cycle([chat(20) for _ in range(16)])
    ours, theirs = Template(CHAT), ENVIRONMENT.from_string(CHAT)
    made = [microseconds(lambda: template.render(next(others))) for template in (ours, theirs)]
    row("the same, each time with other objects", *made, "µs", "")


def compiling():
    ours = microseconds(lambda: Template(CHAT))
    theirs = microseconds(lambda: ENVIRONMENT.from_string(CHAT))
    row("compile, chat", ours, theirs, "µs", f"{theirs / 100:.3g}")


SECONDS = 1.5


def rate(template, given, count):
    """Renders of so many threads in a while."""
    done = [0] * count
    stop = time.perf_counter() + SECONDS

    def work(index):
        while time.perf_counter() < stop:
            template.render(given)
            done[index] += 1

    workers = [threading.Thread(target=work, args=(index,)) for index in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(done)


def threads():
    """What two threads do, of what two processes do: these have no lock in common, and whatever else
    runs on the machine slows both."""
    given = chat(400, 0)
    for name, template in (("ours", Template(CHAT)), ("theirs", ENVIRONMENT.from_string(CHAT))):
        best = 0.0
        for _ in range(3):
            with multiprocessing.get_context("fork").Pool(2) as pool:
                alone = sum(pool.map(functools.partial(_alone, name), range(2), chunksize=1))
            best = max(best, 100 * rate(template, given, 2) / alone)
        if name == "ours":
            ours = best
    row("two threads, of two processes, chat of 400 messages", ours, best, "%", "85")


def _alone(name, _):
    template = Template(CHAT) if name == "ours" else ENVIRONMENT.from_string(CHAT)
    return rate(template, chat(400, 0), 1)


def imports():
    def milliseconds(module):
        code = f"import time; b = time.process_time(); import {module}; print(time.process_time() - b)"
        runs = (subprocess.run([sys.executable, "-c", code], capture_output=True, check=True) for _ in range(15))
        return min(float(run.stdout) for run in runs) * 1000

    row("import", milliseconds("quillet_engine"), milliseconds("jinja2"), "ms", "15")


def resident():
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise SystemExit("there is no /proc here")


def memory():
    """Growth over a million renders, after ten thousand."""
    template, given = Template(CHAT), chat(5, 2)
    tools = Template("{{ f(x) }}")
    for _ in range(10_000):
        template.render(given)
        tools.render(x="a", tools={"f": str.upper})
    before = resident()
    for _ in range(900_000):
        template.render(given)
    for _ in range(100_000):
        tools.render(x="a", tools={"f": str.upper})
    row("memory grows over 1,000,000 renders by", resident() - before, None, "MB", "1")


def calls():
    template = Template("{{ f(a) }} {{ f(b) }} {{ f(c) }}")
    given, tools = {"a": "1", "b": "2", "c": "3"}, {"f": str.upper}
    row("render, three calls of a function", microseconds(lambda: template.render(given, tools=tools)), None, "µs", "")


def main():
    renders()
    compiling()
    calls()
    imports()
    threads()
    memory()
    row("wheel", pathlib.Path(sys.argv[1]).stat().st_size / 1e6, None, "MB", "5")


if __name__ == "__main__":
    main()
