#!/usr/bin/env python3
"""Makes crates/sql/src/rank/dictionary/english.bin from WordNet 3.0.

    python3 words.py /usr/share/wordnet ../../crates/sql/src/rank/dictionary/english.bin

WordNet is in Debian's package wordnet-base. What is made of it: a list of English words with how
common they are, irregular forms with their base, and for each word the words that are nearest to it
in meaning, found by a random walk with restarts over WordNet's relations and definitions.
The layout of the file is described in crates/sql/src/rank/dictionary/mod.rs, which reads it.
"""

import collections
import math
import pathlib
import re
import struct
import sys

# How likely the walk is to follow a relation from one set of synonyms to another.
RELATIONS = {
    "@": 1.0,   # more general
    "@i": 0.3,  # is an instance of
    "~": 1.0,   # more special
    "+": 1.5,   # derived from: sing, singer
    "&": 0.8,   # similar adjectives
    "\\": 1.5,  # adjective of: French, France
    "=": 1.0,   # attribute: heavy, weight
    "#p": 0.4, "%p": 0.4, "#m": 0.4, "%m": 0.4, "#s": 0.3, "%s": 0.3,  # parts and wholes
    "*": 0.5, ">": 0.5, "$": 0.8, "^": 0.5,  # of verbs
    ";c": 0.3, "-c": 0.3,  # subjects
}
GLOSS = 0.12        # share of a walk that goes on by the words of a definition
RESTART = 0.25      # chance to start again at each step
SMALLEST = 3e-4     # walks thinner than this are not followed
SCALE = 0.2         # a score that counts as the word itself
MOST = 12           # words kept for each
COMMON = 40_000     # most words in the list
POS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}

# Words that say nothing about a subject; WordNet has no articles or pronouns anyway.
EMPTY = set("""a an the of or and in to for by with on at from as is are be being been was were has have had
that which who whom this these those it its not no one two used use uses using especially usually
something someone some any all other another such more most very when where into than relating
being make made having do does done can may often make many much etc person""".split())


def read_synsets(folder):
    """Sets of synonyms by (part of speech, offset): words, pointers, definition."""
    sets = {}
    for name, pos in POS.items():
        for line in (folder / f"data.{name}").read_text("ascii", "replace").splitlines():
            if line.startswith("  "):
                continue
            data, _, gloss = line.partition(" | ")
            field = data.split()
            count = int(field[3], 16)
            words = [w.lower().split("(")[0] for w in field[4:4 + 2 * count:2]]
            at = 4 + 2 * count
            pointers = []
            for i in range(int(field[at])):
                symbol, offset, part, _ = field[at + 1 + 4 * i:at + 5 + 4 * i]
                pointers.append((symbol, ("a" if part == "s" else part, offset)))
            sets[(pos, field[0])] = (words, pointers, gloss.split("; \"")[0])
    return sets


def read_senses(folder):
    """For each word its sets of synonyms with how often a reader met it in that sense."""
    counts = collections.Counter()
    kinds = {"1": "n", "2": "v", "3": "a", "5": "a", "4": "r"}
    for line in (folder / "cntlist.rev").read_text("ascii").splitlines():
        sense, number, count = line.split()
        word, _, rest = sense.partition("%")
        counts[(word, kinds[rest[0]], int(number))] += int(count)
    senses = collections.defaultdict(list)
    for name, pos in POS.items():
        for line in (folder / f"index.{name}").read_text("ascii").splitlines():
            if line.startswith("  "):
                continue
            field = line.split()
            offsets = field[-int(field[2]):]
            for i, offset in enumerate(offsets, 1):
                senses[field[0]].append(((pos, offset), counts[(field[0], pos, i)], i))
    return senses


def read_irregular(folder):
    forms = {}
    for name in ("noun", "verb"):
        for line in (folder / f"{name}.exc").read_text("ascii").splitlines():
            form, base = line.split()[:2]
            forms.setdefault(form, base)
    return forms


def base_forms(word, irregular, known):
    """A word of a definition as it stands in the list."""
    if word in irregular:
        return irregular[word]
    if word in known:
        return word
    for ending, instead in (("ies", "y"), ("es", ""), ("s", ""), ("ied", "y"), ("ed", ""), ("ed", "e"),
                            ("ing", ""), ("ing", "e")):
        if word.endswith(ending) and word[:-len(ending)] + instead in known:
            return word[:-len(ending)] + instead
    return None


def frequencies(sets, senses, irregular):
    """How common each word is: as readers met it in texts, and as definitions use it."""
    known = set(senses)
    used = collections.Counter()
    for _, _, gloss in sets.values():
        used.update(base_forms(w, irregular, known) for w in re.findall(r"[a-z]+", gloss.lower()))
    return {w: sum(count for _, count, _ in found) + 0.3 * len(found) + 0.5 * used[w]
            for w, found in senses.items()}


def choose_words(often):
    """The commonest words that are written with letters only."""
    plain = [w for w in often if re.fullmatch(r"[a-z]{2,20}", w)]
    plain.sort(key=lambda w: (-often[w], w))
    return plain[:COMMON]


def build_graph(sets, senses, irregular):
    """Edges with chances: a word to its senses, a sense to its words, relations and definition."""
    known = set(senses)
    edges = {}
    for word, found in senses.items():
        weights = [(s, (count + 0.5) / (1 + 0.3 * (number - 1))) for s, count, number in found]
        whole = sum(w for _, w in weights)
        edges[word] = [(s, w / whole) for s, w in weights]
    usage = collections.Counter()
    glosses = {}
    for key, (_, _, gloss) in sets.items():
        words = {base_forms(w, irregular, known) for w in re.findall(r"[a-z]+", gloss.lower())}
        glosses[key] = sorted(w for w in words if w and w not in EMPTY and len(w) > 2)
        usage.update(glosses[key])
    for key, (words, pointers, _) in sets.items():
        out = collections.Counter()
        for word in words:
            for sense, chance in edges.get(word, ()):
                if sense == key:
                    out[word] += 0.4 + chance
        kinds = collections.Counter(symbol for symbol, _ in pointers)
        for symbol, target in pointers:
            weight = RELATIONS.get(symbol)
            if weight and target in sets:
                out[target] += weight / math.sqrt(kinds[symbol])
        whole = sum(out.values()) or 1.0
        rare = [(w, 1 / math.sqrt(usage[w])) for w in glosses[key]]
        thick = sum(w for _, w in rare) or 1.0
        share = GLOSS if rare else 0.0
        edges[key] = [(t, w / whole * (1 - share)) for t, w in out.items()]
        edges[key] += [(t, w / thick * share) for t, w in rare]
    return edges


def walk(edges, start):
    """Where a walk that starts again now and then is found: only the parts that are thick enough."""
    at = collections.Counter()
    waiting = {start: 1.0}
    while waiting:
        following = collections.Counter()
        for node, mass in waiting.items():
            at[node] += RESTART * mass
            for target, chance in edges.get(node, ()):
                following[target] += (1 - RESTART) * mass * chance
        waiting = {n: m for n, m in following.items() if m > SMALLEST}
    return at


def related(edges, words, chosen):
    """For each word the nearest others with a weight from 1 to 254."""
    visits = {}
    reach = collections.Counter()
    for word in words:
        at = walk(edges, word)
        near = {w: m for w, m in at.items() if isinstance(w, str) and w in chosen and w != word}
        visits[word] = near
        for other, mass in near.items():
            reach[other] += mass
    mean = sum(reach.values()) / len(reach)
    result = {}
    for word, near in visits.items():
        ranked = [(mass / math.sqrt(reach[other] + 0.3 * mean), other) for other, mass in near.items()]
        ranked.sort(key=lambda pair: (-pair[0], pair[1]))
        result[word] = ranked[:MOST]
    return result


def write(target, words, often, irregular, near):
    """The list in order of the alphabet; every number is little-endian."""
    forms = {f: b for f, b in irregular.items()
             if b in words and f not in words and re.fullmatch(r"[a-z]{2,20}", f)}
    order = sorted(words | forms.keys())
    number = {w: i for i, w in enumerate(order)}
    whole = sum(often[w] for w in words)
    texts, costs, relations = bytearray(), bytearray(), bytearray()
    before = ""
    for word in order:
        shared = next((i for i, (a, b) in enumerate(zip(before, word)) if a != b), min(len(before), len(word)))
        texts += bytes([shared, len(word) - shared]) + word[shared:].encode("ascii")
        before = word
        common = often.get(word) if word in words else often[forms[word]] * 0.3
        costs.append(min(255, round(8 * -math.log2(common / whole))))
        found = near.get(word, [])
        pairs = [(o, max(1, min(254, round(254 * s / SCALE)))) for s, o in found if s > SCALE / 100]
        if word in forms:
            pairs = [(forms[word], 255)]
        relations.append(len(pairs))
        for other, weight in pairs:
            relations += struct.pack("<HB", number[other], weight)
    head = b"QWN1" + struct.pack("<II", len(order), len(texts))
    target.write_bytes(head + texts + costs + relations)


def main():
    folder, target = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    sets, senses, irregular = read_synsets(folder), read_senses(folder), read_irregular(folder)
    often = frequencies(sets, senses, irregular)
    words = choose_words(often)
    near = related(build_graph(sets, senses, irregular), words, set(words))
    write(target, set(words), often, irregular, near)


if __name__ == "__main__":
    main()
