"""Reads an unpacked wheel of LiteLLM and prints the table of models that the program embeds.

Usage: table.py WHEEL [BEFORE]
A model of BEFORE, the table that is replaced, which has an end and which the wheel has no more stays
as it was: LiteLLM drops what is gone, and that is what people have to be warned of.
"""

import glob
import json
import os
import re
import sys

PRICES = "litellm/model_prices_and_context_window_backup.json"

# Whose models are taken, and how their own names begin. The rest of a list is hosted for others, who
# say themselves what it can do and costs.
PROVIDERS = {
    "openai": [""],
    "anthropic": ["claude-"],
    "gemini": [""],
    "dashscope": ["qwen", "qwq"],
    "deepseek": ["deepseek-"],
    "minimax": ["minimax-"],
    "mistral": [
        "codestral",
        "devstral",
        "magistral",
        "ministral",
        "mistral",
        "open-",
        "pixtral",
        "voxtral",
    ],
    "moonshot": ["kimi-", "moonshot-"],
    "xai": ["grok-"],
    "zai": ["glm-"],
}

# For these OpenAI's pages bound the request by itself, and LiteLLM has that bound; what fits into
# the model is the answer besides.
OPENAI_WINDOWS = {272000: 400000, 922000: 1050000}

# DeepSeek's chat wire refuses `json_schema`, whatever LiteLLM makes of it.
NO_SCHEMA = {"deepseek"}

ABILITIES = [
    ("images", "supports_vision"),
    ("tools", "supports_function_calling"),
    ("reasoning", "supports_reasoning"),
    ("schema", "supports_response_schema"),
]

PARTS = [
    ("input", "input_cost_per_token"),
    ("cache_read", "cache_read_input_token_cost"),
    ("cache_write", "cache_creation_input_token_cost"),
    ("output", "output_cost_per_token"),
]

ABOVE = re.compile(r"input_cost_per_token_above_(\d+)k_tokens$")

# What follows a name and only says which version it is, as `is_version` in models/name.rs has it.
VERSION = re.compile(r"[-@](latest|preview|exp|\d{3,})([-@](latest|preview|exp|\d{2,}))*$")


def main(wheel, before=None):
    with open(os.path.join(wheel, PRICES), encoding="utf-8") as file:
        prices = json.load(file)
    old = read(before)["models"] if before and os.path.exists(before) else []
    print(written(version_of(wheel), day_of(wheel), models(prices, old)), end="")


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def written(version, day, rows):
    """One line a model, so that a newer wheel is a readable difference."""
    lines = ",\n".join(compact(row) for row in rows)
    return f'{{"litellm":{compact(version)},"day":{compact(day)},"models":[\n{lines}\n]}}\n'


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def version_of(wheel):
    with open(metadata(wheel, "METADATA"), encoding="utf-8") as file:
        return re.search(r"^Version: (\S+)$", file.read(), re.MULTILINE).group(1)


def day_of(wheel):
    """The day on which the wheel was built, which its bill of materials has."""
    with open(metadata(wheel, "sboms/*.json"), encoding="utf-8") as file:
        return json.load(file)["metadata"]["timestamp"][:10]


def metadata(wheel, name):
    found = sorted(glob.glob(os.path.join(wheel, "litellm-*.dist-info", name)))
    if not found:
        sys.exit(f"table.py: the wheel has no {name}")
    return found[0]


def models(prices, old):
    found = {}
    # A name with its provider before it comes last, and so counts where both are there.
    for name in sorted(prices, key=lambda name: ("/" in name, name)):
        row = model(name, prices)
        if row:
            found[row["id"].lower()] = row
    for row in old:
        if row.get("ends") and row["id"].lower() not in found:
            found[row["id"].lower()] = row
    return without_versions(found)


def model(name, prices):
    facts = prices[name]
    provider = facts.get("litellm_provider")
    if provider not in PROVIDERS or facts.get("mode") not in ("chat", "responses"):
        return None
    own = name.removeprefix(provider + "/")
    if "/" in own or not own.lower().startswith(tuple(PROVIDERS[provider])):
        return None
    if "text" not in facts.get("supported_output_modalities", ["text"]):
        return None
    context = facts.get("max_input_tokens")
    output = facts.get("max_output_tokens")
    if not context or not output:
        return None
    if provider == "openai":
        context = OPENAI_WINDOWS.get(context, context)
    row = {"id": own, "context": context, "output": min(output, context)}
    row["supports"] = [name for name, flag in ABILITIES if facts.get(flag)]
    if provider in NO_SCHEMA:
        row["supports"] = [name for name in row["supports"] if name != "schema"]
    row |= price(facts)
    if facts.get("deprecation_date"):
        row["ends"] = facts["deprecation_date"]
        successor = living(facts, prices, provider)
        if successor:
            row["successor"] = successor
    return row


def living(facts, prices, provider):
    """The model to take instead: not one that ends as well, as far as the wheel names another."""
    seen = set()
    name = None
    while facts and facts.get("successor_model") not in seen | {None}:
        name = facts["successor_model"]
        seen.add(name)
        facts = prices.get(name)
    return name.removeprefix(provider + "/") if name else None


def price(facts):
    """US dollars per million tokens; nothing where that is no price of this form."""
    if facts.get("output_cost_per_reasoning_token") not in (None, facts.get("output_cost_per_token")):
        return {}
    if facts.get("tiered_pricing"):
        return tiered(facts["tiered_pricing"])
    thresholds = sorted(int(found.group(1)) for found in map(ABOVE.match, facts) if found)
    base = parts(facts, "")
    if len(thresholds) > 1 or not base:
        return {}
    if not thresholds:
        return {"price": base}
    above = parts(facts, f"_above_{thresholds[0]}k_tokens")
    return {"price": base, "above": {"input_tokens": thresholds[0] * 1000} | above} if above else {}


def tiered(tiers):
    rows = [parts(tier, "") for tier in tiers]
    odd = any("output_cost_per_reasoning_token" in tier for tier in tiers)
    if odd or len(tiers) != 2 or not all(rows):
        return {}
    return {"price": rows[0], "above": {"input_tokens": int(tiers[1]["range"][0])} | rows[1]}


def parts(facts, ending):
    found = {name: million(facts[key + ending]) for name, key in PARTS if facts.get(key + ending)}
    return found if "input" in found and "output" in found else None


def million(per_token):
    rounded = round(per_token * 1e6, 6)
    return int(rounded) if rounded == int(rounded) else rounded


def without_versions(found):
    """A dated version of which nothing else is known is found by the name before its date."""
    kept = {}
    for name in sorted(found, key=lambda name: (len(name), name)):
        base = max((other for other in kept if name.startswith(other + "-")), key=len, default=None)
        if base and VERSION.match(name[len(base) :]) and same(found[name], kept[base]):
            continue
        kept[name] = found[name]
    return [kept[name] for name in sorted(kept)]


def same(one, other):
    return one | {"id": ""} == other | {"id": ""}


if __name__ == "__main__":
    main(*sys.argv[1:])
