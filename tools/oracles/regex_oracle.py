#!/usr/bin/env python3
r"""Random patterns of the subset that Python's `re` and ECMA-262 share, and what `re` says of random strings.

    tools/oracles/regex_oracle.py [COUNT] [SEED] > tests/grammar/fixtures/regex_cases.json

Each case: the pattern, strings that it is found in, strings that it is not found in. Differences are kept out: `$` goes to
`re` as `\Z`, classes are ASCII's, \B is not tried on the empty string, no string has a line separator but the line feed.
"""

import json
import random
import re
import sys

ALPHABET = "aaabbbc01_ -.\n\u00e9\U0001f600"
CLASSES = ["[ab]", "[^a]", "[a-c0]", "[^\\n\\d]", "\\d", "\\w", "\\s", "\\D", "\\W", "\\S", "[\\w-]", "[^\\s.]"]


def atom(rng, depth, asserts):
    kind = rng.randrange(12)
    if depth > 0 and kind < 4:
        inner = alternatives(rng, depth - 1, asserts)
        return rng.choice(["(", "(?:", "(?P<n%d>" % rng.randrange(10**9)]) + inner + ")"
    if kind < 9:
        return re.escape(rng.choice("aabbc01_-.\u00e9")) if rng.random() < 0.8 else "."
    return rng.choice(CLASSES)


def quantifier(rng):
    if rng.random() < 0.6:
        return ""
    low = rng.randrange(3)
    form = rng.choice(["*", "+", "?", "{%d}" % (low + 1), "{%d,}" % low, "{%d,%d}" % (low, low + rng.randrange(1, 4))])
    return form + ("?" if rng.random() < 0.2 else "")


def sequence(rng, depth, asserts):
    out = ""
    for _ in range(rng.randrange(0, 4)):
        if asserts and rng.random() < 0.25:
            what = rng.randrange(6)
            if what == 0:
                out += "^"
            elif what == 1:
                out += "$"
            elif what == 2:
                out += rng.choice(["\\b", "\\B"])
            elif depth > 0:
                out += rng.choice(["(?=", "(?!"]) + alternatives(rng, depth - 1, asserts) + ")"
        mark = quantifier(rng)
        out += atom(rng, depth, asserts and mark == "") + mark
    return out


def alternatives(rng, depth, asserts):
    return "|".join(sequence(rng, depth, asserts) for _ in range(rng.choice([1, 1, 1, 2, 3])))


def text(rng):
    return "".join(rng.choice(ALPHABET) for _ in range(rng.randrange(0, 9)))


def for_python(pattern):
    """`$` outside classes as \\Z: in Python it matches before a last line feed, too."""
    out, i, in_class = "", 0, False
    while i < len(pattern):
        c = pattern[i]
        if c == "\\":
            out += pattern[i : i + 2]
            i += 2
            continue
        in_class = (in_class or c == "[") and c != "]"
        out += "\\Z" if c == "$" and not in_class else c
        i += 1
    return out


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    cases = []
    while len(cases) < count:
        pattern = alternatives(rng, 3, rng.random() < 0.6)
        compiled = re.compile(for_python(pattern), re.ASCII)
        found, missed = set(), set()
        for _ in range(60):
            sample = text(rng)
            (found if compiled.search(sample) else missed).add(sample)
        # Most patterns are found everywhere or nowhere: those that tell strings apart say more.
        if (not found or not missed) and rng.random() < 0.8:
            continue
        samples = [sorted(found)[:12], sorted(missed)[:12]]
        if "\\B" in pattern:  # before 3.14, Python finds it nowhere in the empty string
            samples = [[sample for sample in some if sample] for some in samples]
        cases.append([pattern.replace("(?P<", "(?<"), *samples])
    json.dump(cases, sys.stdout, ensure_ascii=True, separators=(",", ":"))
    print()


main()
