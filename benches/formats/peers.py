"""Python's engines on the prompts of `prompts.py`. Each line is `format TAB engine TAB prompt TAB compile TAB render`,
in nanoseconds of CPU time, or `missing TAB engine TAB how to install it`.

    python peers.py prompts.json
"""

import asyncio
import importlib.metadata
import json
import logging
import string
import sys
import warnings

from measure import nanoseconds

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

with open(sys.argv[1]) as file:
    PROMPTS = json.load(file)


def run(format, engine, compile, render, compiles=True):
    """An engine that does not compile only has the text ready, or what wraps it."""
    for prompt in PROMPTS:
        text, data = prompt["templates"].get(format), prompt["data"]
        if text is None:
            continue
        template = compile(text)
        found = render(template, data)
        assert found == prompt["expected"], f"{engine} on {prompt['name']}: {found[:200]!r}"
        compiled = f"{nanoseconds(lambda: compile(text)):.0f}" if compiles else ""
        rendered = nanoseconds(lambda: render(template, data))
        print(format, engine, prompt["name"], compiled, f"{rendered:.0f}", sep="\t", flush=True)


def version(package):
    return importlib.metadata.version(package)


def jinja2():
    import jinja2.ext
    import jinja2.sandbox
    engine = f"jinja2 {version('jinja2')}"
    chat = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, cache_size=0, extensions=[jinja2.ext.loopcontrols])
    plain = jinja2.Environment(cache_size=0)
    for format, environment in (("jinja", chat), ("jinja-plain", plain)):
        run(format, engine, environment.from_string, lambda template, data: template.render(data))


def pybars4():
    from pybars import Compiler
    run("handlebars", f"pybars4 {version('pybars4')}", lambda text: Compiler().compile(text),
        lambda template, data: str(template(data)))


def langchain_core():
    from langchain_core.utils import mustache
    run("mustache", f"langchain-core {version('langchain-core')}", lambda text: list(mustache.tokenize(text)),
        lambda template, data: mustache.render(list(template), data))


def python_liquid():
    from liquid import Environment
    run("liquid", f"python-liquid {version('python-liquid')}", Environment().from_string,
        lambda template, data: template.render(**data))


def standard_library():
    release = ".".join(map(str, sys.version_info[:3]))
    run("f-string", f"str.format {release}", str, lambda template, data: template.format(**data), compiles=False)
    run("f-string", f"string.Formatter {release}", str,
        lambda template, data: string.Formatter().vformat(template, (), data), compiles=False)


def semantic_kernel():
    from semantic_kernel import Kernel
    from semantic_kernel.functions.kernel_arguments import KernelArguments
    from semantic_kernel.prompt_template import (
        HandlebarsPromptTemplate, Jinja2PromptTemplate, KernelPromptTemplate, PromptTemplateConfig)
    kernel, loop = Kernel(), asyncio.new_event_loop()
    engine = f"semantic-kernel {version('semantic-kernel')}"

    def with_engine(name, format, template_class, compiles=True):
        def compile(text):
            config = PromptTemplateConfig(name="prompt", template=text, template_format=format)
            return template_class(prompt_template_config=config, allow_dangerously_set_content=True)

        def render(template, data):
            return str(loop.run_until_complete(template.render(kernel, KernelArguments(**data))))

        run(name, engine, compile, render, compiles)

    with_engine("semantic-kernel", "semantic-kernel", KernelPromptTemplate)
    with_engine("semantic-kernel-handlebars", "handlebars", HandlebarsPromptTemplate)
    # It parses at every render.
    with_engine("semantic-kernel-jinja2", "jinja2", Jinja2PromptTemplate, compiles=False)


def main():
    standard_library()
    for engine in (jinja2, pybars4, langchain_core, python_liquid, semantic_kernel):
        name = engine.__name__.replace("_", "-")
        try:
            engine()
        except ImportError:
            print("missing", name, f"{sys.executable} -m pip install {name}", sep="\t", flush=True)


main()
