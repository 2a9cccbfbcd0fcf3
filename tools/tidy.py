#!/usr/bin/env python3
"""clang-tidy over every file of src/, in a third of the time: files that are compiled alike are read together.

    tools/tidy.py BUILD_FOLDER [-j JOBS]

Nearly all of clang-tidy's time goes into the standard library's headers, which it reads and walks once for every source file. So
the files that one target compiles with the same flags are included, one after another, into one unit, and that is checked.
Files whose internal names clash with those of a file before them go into another unit with others of their kind.
Kernels are compiled for six instruction sets; where one differs from another in an instruction or two, its units are compiled
for Clang's warnings only.
BUILD_FOLDER is configured with Clang and holds compile_commands.json; the units are written to its folder tidy.
"""

import argparse
import json
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent / "src"
CLANG, CLANG_TIDY = "clang++-19", "clang-tidy-19"
# Targets whose code is nearly that of another: of amx the first two, of avx2 the last.
WARNINGS_ONLY = ("brass_cpu_avx512_bf16", "brass_cpu_avx512_vnni", "brass_cpu_avx_vnni")


def target_and_flags(entry):
    """Of one command: the folder its object goes to, and the flags without compiler, source and what else is written."""
    words = shlex.split(entry["command"])
    target = words[words.index("-o") + 1].split(".dir/")[0]
    flags, after = [], 1 + next(i for i, word in enumerate(words) if word.endswith(CLANG))
    words = iter(words[after:])
    for word in words:
        if word in ("-o", "-MF", "-MT"):
            next(words)
        elif word not in ("-c", "-MD", entry["file"]):
            flags.append(word)
    return target, tuple(flags)


def groups_of(build):
    """{(target, flags): [file, …]} of what is compiled from src/."""
    groups = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if Path(entry["file"]).is_relative_to(SOURCES):
            groups.setdefault(target_and_flags(entry), []).append(entry["file"])
    return groups


class Unit:
    """Files to check together, through a generated one that includes them, or a single one by itself."""

    def __init__(self, folder, name, flags, files):
        self.folder, self.name, self.flags, self.files = folder, name, flags, files

    @property
    def path(self):
        return self.folder / f"{self.name}.cpp" if len(self.files) > 1 else Path(self.files[0])

    def write(self):
        if len(self.files) > 1:
            self.path.write_text("".join(f'#include "{file}"\n' for file in self.files))

    def separate_clashing(self):
        """This unit without the files that do not compile behind the others; those make units of their own."""
        clashing = []
        while len(self.files) > 1:
            self.write()
            command = [CLANG, *self.flags, "-fsyntax-only", "-ferror-limit=0", str(self.path)]
            text = subprocess.run(command, capture_output=True, text=True, check=False).stderr
            lines = {int(line) for line in re.findall(rf"In file included from {re.escape(str(self.path))}:(\d+):", text)}
            found = [self.files[line - 1] for line in sorted(lines)]
            if not found:
                break
            if len(found) == len(self.files):  # each has a fault of its own
                return [Unit(self.folder, self.name, self.flags, [file]) for file in clashing + found]
            clashing += found
            self.files = [file for file in self.files if file not in found]
        if not clashing:
            return [self]
        return [self, *Unit(self.folder, f"{self.name}_more", self.flags, sorted(clashing)).separate_clashing()]

    def check(self):
        if self.name.startswith(WARNINGS_ONLY):
            command = [CLANG, *self.flags, "-fsyntax-only", str(self.path)]
        else:
            command = [CLANG_TIDY, "--quiet", f"--config-file={SOURCES.parent / '.clang-tidy'}", str(self.path), "--", *self.flags]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        return result.returncode == 0, result.stdout + ("" if result.returncode == 0 else result.stderr)


def main():
    parser = argparse.ArgumentParser(description="clang-tidy over src/, a few files at a time")
    parser.add_argument("build", type=Path, metavar="BUILD_FOLDER")
    parser.add_argument("-j", "--jobs", type=int, default=1)
    args = parser.parse_args()
    folder = args.build / "tidy"
    folder.mkdir(exist_ok=True)
    groups = [Unit(folder, f"{Path(target).name}_{number}", flags, sorted(files))
              for number, ((target, flags), files) in enumerate(groups_of(args.build.resolve()).items())]
    failed = 0
    with ThreadPoolExecutor(args.jobs) as pool:
        units = [unit for units in pool.map(Unit.separate_clashing, groups) for unit in units]
        for clean, text in pool.map(Unit.check, sorted(units, key=lambda unit: -len(unit.files))):
            failed += not clean
            if not clean:
                print(text)
    files = sum(len(unit.files) for unit in units)
    print(f"clang-tidy: {files} files in {len(units)} units, {failed} units with findings")
    return 0 if files and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
