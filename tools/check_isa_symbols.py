#!/usr/bin/env python3
"""Checks that no code compiled for a higher instruction set can be taken for code that any machine may run.

    tools/check_isa_symbols.py [BUILD_FOLDER]       default build/release

When an inline function is compiled in several object files, the linker keeps one copy. Were that the copy of an object
built with, say, -mavx512f, a plain machine would die in code that looks harmless. So an object built with more than the
floor of the project may define no weak symbol, and no two of them the same one.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FLOOR = "x86-64-v2"
SHARED_KINDS = "WVu"  # weak function, weak object, unique: one copy serves the whole program
KIND = re.compile(r"^([0-9a-f]+) (\S) (.*)$")


def raises_floor(command):
    flags = command.split()
    march = [flag for flag in flags if flag.startswith("-march=")]
    return (march and march[-1] != f"-march={FLOOR}") or any(
        re.match(r"-m(avx|fma|f16c|bmi|amx)", flag) for flag in flags)


def defined_symbols(object_file):
    listing = subprocess.run(["nm", "--demangle", "--defined-only", str(object_file)], capture_output=True, text=True,
                             check=True).stdout
    for line in listing.splitlines():
        match = KIND.match(line)
        if match:
            yield match[2], match[3]


def main():
    build = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "release"
    database = build / "compile_commands.json"
    if not database.exists():
        sys.exit(f"check_isa_symbols: {database} is missing; run ./dev build")
    objects = []
    for entry in json.loads(database.read_text()):
        if raises_floor(entry["command"]):
            path = Path(entry["directory"]) / re.search(r" -o (\S+)", entry["command"])[1]
            if not path.exists():
                sys.exit(f"check_isa_symbols: {path} is not built; run ./dev build")
            objects.append(path)
    if not objects:
        sys.exit("check_isa_symbols: no object is built above the floor; is this the right build folder?")

    problems, owners = 0, {}
    for path in objects:
        for kind, symbol in defined_symbols(path):
            if kind in SHARED_KINDS:
                problems += 1
                print(f"{path.name}: {symbol} is weak ({kind}); give it internal linkage")
            elif kind.isupper():
                if symbol in owners:
                    problems += 1
                    print(f"{path.name}: {symbol} is also in {owners[symbol]}")
                owners[symbol] = path.name
    print(f"instruction sets: {len(objects)} objects above {FLOOR}, {problems} violations")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
