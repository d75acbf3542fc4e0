"""Four prompts in every template language, with their data and the text that each must give.

    python3 prompts.py > prompts.json

tiny5: five variables. chat50: a loop over 50 messages. nestedif: conditions
inside each other. big20k: 20 KB of text with 40 fields.
"""

import json
import random
import sys

WORDS = ("context token model prompt answer render value source system policy report table query index "
         "agent memory result").split()

VARIABLE = {
    "go": "{{.%s}}",
    "jinja": "{{ %s }}",
    "semantic-kernel": "{{$%s}}",
    "handlebars": "{{%s}}",
    "mustache": "{{{%s}}}",
    "liquid": "{{ %s }}",
    "f-string": "{%s}",
}

# Formats that share the language of another.
SAME_LANGUAGE = {
    "jinja-plain": "jinja",
    "semantic-kernel-jinja2": "jinja",
    "semantic-kernel-handlebars": "handlebars",
    "semantic-kernel-liquid": "liquid",
}

LOOP = {
    "go": ("{{range .messages}}", "{{.%s}}", "{{end}}"),
    "jinja": ("{%% for m in messages %%}", "{{ m.%s }}", "{%% endfor %%}"),
    "handlebars": ("{{#each messages}}", "{{%s}}", "{{/each}}"),
    "mustache": ("{{#messages}}", "{{{%s}}}", "{{/messages}}"),
    "liquid": ("{%% for m in messages %%}", "{{ m.%s }}", "{%% endfor %%}"),
}


def words(source, count):
    return " ".join(source.choice(WORDS) for _ in range(count))


def tiny():
    names = [f"variable{number}" for number in range(1, 6)]
    return {
        "name": "tiny5",
        "data": {name: f"value {name[-1]}" for name in names},
        "expected": " ".join(f"value {name[-1]}" for name in names),
        "templates": {language: " ".join(form % name for name in names) for language, form in VARIABLE.items()},
    }


def chat(source):
    roles = ("user", "assistant")
    messages = [{"role": roles[number % 2], "content": words(source, 20)} for number in range(50)]
    turn = "<|{role}|>\n{content}\n<|end|>\n"
    end = "<|assistant|>"

    def template(head, field, tail):
        body = turn.format(role=field % "role", content=field % "content")
        return head.replace("%%", "%") + body + tail.replace("%%", "%") + end

    return {
        "name": "chat50",
        "data": {"messages": messages},
        "expected": "".join(turn.format(**message) for message in messages) + end,
        "templates": {language: template(*form) for language, form in LOOP.items()},
    }


def nested():
    def with_else(if_, else_, end, variable):
        both = lambda name, then, otherwise: if_ % name + then + else_ + otherwise + end
        inner = both("c", " C" + both("d", "D", " notD " + variable % "lang"), "x")
        return both("a", "A" + both("b", "B" + both("c", "C", "notC"), "notB " + variable % "name" + inner), "notA")

    def with_sections(variable):
        both = lambda name, then, otherwise: "{{#%s}}%s{{/%s}}{{^%s}}%s{{/%s}}" % (name, then, name, name, otherwise, name)
        inner = both("c", " C" + both("d", "D", " notD " + variable % "lang"), "x")
        return both("a", "A" + both("b", "B" + both("c", "C", "notC"), "notB " + variable % "name" + inner), "notA")

    lines = {
        "go": with_else("{{if .%s}}", "{{else}}", "{{end}}", VARIABLE["go"]),
        "jinja": with_else("{%% if %s %%}", "{% else %}", "{% endif %}", VARIABLE["jinja"]),
        "liquid": with_else("{%% if %s %%}", "{% else %}", "{% endif %}", VARIABLE["liquid"]),
        "handlebars": with_else("{{#if %s}}", "{{else}}", "{{/if}}", VARIABLE["handlebars"]),
        "mustache": with_sections(VARIABLE["mustache"]),
    }
    return {
        "name": "nestedif",
        "data": {"a": True, "b": False, "c": True, "d": False, "name": "Ann", "lang": "Rust", "tier": "pro"},
        "expected": "\n".join(["AnotB Ann C notD Rust pro"] * 4),
        "templates": {language: "\n".join([line + " " + VARIABLE[language] % "tier"] * 4)
                      for language, line in lines.items()},
    }


def big(source):
    paragraphs = [words(source, 78) for _ in range(41)]
    values = {f"field{number}": words(source, 2) for number in range(40)}

    def filled(fields):
        pairs = (f"{paragraph} {field} " for paragraph, field in zip(paragraphs, fields))
        return "".join(pairs) + paragraphs[-1]

    return {
        "name": "big20k",
        "data": values,
        "expected": filled(values.values()),
        "templates": {language: filled(form % name for name in values) for language, form in VARIABLE.items()},
    }


def main():
    source = random.Random(11)
    prompts = [tiny(), chat(source), nested(), big(source)]
    for prompt in prompts:
        templates = prompt["templates"]
        shared = {name: templates[language] for name, language in SAME_LANGUAGE.items() if language in templates}
        templates.update(shared)
    json.dump(prompts, sys.stdout)


main()
