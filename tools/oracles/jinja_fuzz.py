#!/usr/bin/env python3
"""Differential fuzzer: random template programs, rendered by Jinja2 and by the engine.

    jinja_fuzz.py --driver CMD [--programs N] [--seed S]                compare
    jinja_fuzz.py --driver CMD --provenance [--programs N] [--seed S]   no byte of the input may count as the template's
    jinja_fuzz.py --fixture FILE [--programs N] [--seed S]              write programs with their results, for the tests
    … --only blocks                                                     programs of blocks, `self`, autoescape, long integers

CMD is build/release/src/text/jinja_driver (CMake target jinja_driver). Needs Jinja2 (PyPI). Both must give the same text,
or both an error, and the engine's must name its place. A program whose result holds a memory address is left out.
"""

import argparse
import json
import re
import resource
import subprocess
import sys

import jinja_env
from jinja_generator import CONTEXT, Generator

ADDRESS = re.compile(r"0x[0-9a-f]{9,}|generatorobject|builtin(method|function)|function[a-z_]*at0x|boundmethod|objectat")


def shows_address(text):
    """Filters may have changed case, put marks between letters or turned the text around: only letters and digits count."""
    plain = re.sub(r"[^a-z0-9_]", "", text.lower())
    return ADDRESS.search(plain) is not None or ADDRESS.search(plain[::-1]) is not None


# Python's integers have no end; the engine's do, and say so. Some refusals depend on sizes only Python has.
SKIP_ERRORS = ("Exceeds the limit", "RecursionError", "MemoryError")


PLACE = re.compile(r"line \d+, column \d+")


def programs(seed, count, focus=False):
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))  # 'x' * 12345678901 is to end as a MemoryError
    generator = Generator(seed, min(4000, 2 * count))
    made = 0
    while made < count:
        source = generator.program(focus)
        text, error = jinja_env.render(source, json.loads(json.dumps(CONTEXT)))
        if text is not None and shows_address(text):
            continue
        if error is not None and error.startswith(SKIP_ERRORS):
            continue
        made += 1
        yield source, text, error


def drive(driver, requests):
    """The driver's answers; None and a complaint where it stops early."""
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    result = subprocess.run(driver, input=lines, capture_output=True, text=True, shell=True)
    outs = [json.loads(line) for line in result.stdout.splitlines()]
    if len(outs) == len(requests):
        return outs
    print(f"the driver stopped after {len(outs)} of {len(requests)} programs: {result.stderr[-500:]}")
    if len(outs) < len(requests):
        print("program:", json.dumps(requests[len(outs)]["template"], ensure_ascii=False))
    return None


def agrees(text, error, got):
    if got.get("out") != text or "broken" in got:
        return False
    return error is None or PLACE.search(got["error"]) is not None


def compare(driver, seed, count, show, focus):
    cases = list(programs(seed, count, focus))
    outs = drive(driver, [{"template": source, "context": CONTEXT} for source, _, _ in cases])
    if outs is None:
        return 1
    bad = 0
    for (source, text, error), got in zip(cases, outs):
        if agrees(text, error, got):
            continue
        bad += 1
        if bad <= show:
            print("program:", json.dumps(source, ensure_ascii=False))
            print("  jinja2:", repr(text) if error is None else error)
            print("  engine:", repr(got.get("out")) if "out" in got else got["error"])
    errors = sum(1 for _, _, error in cases if error is not None)
    print(f"{len(cases)} programs, seed {seed}, {errors} of them errors: {bad} differ")
    return bad


DESERET = {ord("A") + i: chr(0x10400 + i) for i in range(26)} | {ord("a") + i: chr(0x10428 + i) for i in range(26)}


def foreign(value):
    """The same value with every Latin letter of its strings as one of an alphabet that no program uses; keys stay."""
    if isinstance(value, str):
        return value.translate(DESERET)
    if isinstance(value, list):
        return [foreign(item) for item in value]
    if isinstance(value, dict):
        return {key: foreign(item) for key, item in value.items()}
    return value


def check_provenance(driver, seed, count, show, focus):
    """Letters that only the input has must never stand in a stretch that counts as the template's own."""
    generator = Generator(seed, min(4000, 2 * count))
    context = foreign(CONTEXT)
    requests = [{"template": generator.program(focus), "context": context, "segments": True} for _ in range(count)]
    outs = drive(driver, requests)
    if outs is None:
        return 1
    bad = seen = 0
    for request, got in zip(requests, outs):
        text = got.get("out", "").encode()
        untrusted = got.get("untrusted", [])
        own = list(text)
        for begin, end in untrusted:
            own[begin:end] = [0] * (end - begin)
        letters = re.findall(b"\xf0\x90[\x90\x91][\x80-\xbf]", text)
        seen += len(letters)
        if "broken" not in got and not re.search(b"\xf0\x90[\x90\x91]", bytes(own)):
            continue
        bad += 1
        if bad <= show:
            print("program:", json.dumps(request["template"], ensure_ascii=False))
            print("  taken for the template's:", bytes(own).replace(b"\0", b"").decode(errors="replace"))
    print(f"{count} programs, seed {seed}, {seen} letters of input in their texts: {bad} programs lose track")
    return bad


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--driver")
    parser.add_argument("--provenance", action="store_true")
    parser.add_argument("--fixture")
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=10)
    parser.add_argument("--only", choices=["blocks"])
    args = parser.parse_args()
    focus = args.only == "blocks"
    if args.fixture:
        with open(args.fixture, "w") as out:
            out.write(json.dumps({"context": CONTEXT}, ensure_ascii=False) + "\n")
            for source, text, error in programs(args.seed, args.programs, focus):
                if len(source) + len(text or "") > 600:  # a small file with many programs
                    continue
                out.write(json.dumps({"template": source, "out": text}, ensure_ascii=False) + "\n")
        return 0
    check = check_provenance if args.provenance else compare
    return 1 if check(args.driver, args.seed, args.programs, args.show, focus) else 0


if __name__ == "__main__":
    sys.exit(main())
