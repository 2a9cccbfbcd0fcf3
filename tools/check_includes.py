#!/usr/bin/env python3
"""Checks that the layers of ARCHITECTURE.md include and link only along their arrows.

    tools/check_includes.py         prints each violation as file:line, exits with 1 if there is any

Three rules:
1. An #include "layer/…" in src, and a brass_… library named in src/*/CMakeLists.txt, stays within what the layer may use,
   directly or through a layer that it may use.
2. The backends are closed: others see backend/device.h alone, and the program each one's device.h beside it.
3. No file outside model/arch knows an architecture: none of their names is a string there.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src"

# The table of ARCHITECTURE.md. "backend" is what lies directly in src/backend: the Device interface.
MAY_USE = {
    "base": [],
    "quant": ["base"],
    "gguf": ["base", "quant"],
    "graph": ["base", "quant"],
    "model": ["gguf", "graph"],
    "plan": ["graph", "quant"],
    "backend": ["plan", "quant"],
    "backend/ref": ["backend"],
    "backend/cpu": ["backend"],
    "backend/vulkan": ["backend"],
    "backend/split": ["backend"],
    "report": ["base"],
    "text": ["base"],
    "runtime": ["model", "plan", "backend", "text"],
    "hub": ["base"],
    "app": ["runtime", "hub", "report", "backend/ref", "backend/cpu", "backend/vulkan", "backend/split"],
}
PUBLIC_HEADERS = {"backend/ref": "backend/ref/ref.h", "backend/cpu": "backend/cpu/device.h", "backend/vulkan": "backend/vulkan/device.h", "backend/split": "backend/split/split.h"}
# The name that CMake uses for the library of a layer, where it is not the folder's last part.
LIBRARIES = {"device": "backend"}
# Vocabularies and file metadata have kinds that share names with architectures.
NAMES_ALLOWED = ("text", "gguf")

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
LIBRARY = re.compile(r"\bbrass_([a-z]+)\b")


def reachable(layer):
    seen, todo = {layer}, [layer]
    while todo:
        for other in MAY_USE[todo.pop()]:
            if other not in seen:
                seen.add(other)
                todo.append(other)
    return seen


def layer_of(path):
    """The layer of a path relative to src, or None (src/CMakeLists.txt)."""
    parts = Path(path).parts
    for depth in (2, 1):
        layer = "/".join(parts[:depth])
        if layer in MAY_USE and len(parts) > depth:
            return layer
    return None


def sources():
    return sorted(path for suffix in ("*.h", "*.cpp", "*.inc") for path in SRC.rglob(suffix))


def check_includes():
    for file in sources():
        relative = file.relative_to(SRC).as_posix()
        layer = layer_of(relative)
        if layer is None:
            yield f"src/{relative}:1: no layer has this folder; tools/check_includes.py and ARCHITECTURE.md list them"
            continue
        allowed = reachable(layer)
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            match = INCLUDE.match(line)
            if not match or "/" not in match[1]:
                continue
            target = match[1]
            other = layer_of(target)
            if other is None or not (SRC / target).exists():
                yield f"src/{relative}:{number}: \"{target}\" is not a file of a layer"
            elif other not in allowed:
                yield f"src/{relative}:{number}: {layer} may not include {other} (\"{target}\")"
            elif other in PUBLIC_HEADERS and other != layer and target != PUBLIC_HEADERS[other]:
                yield f"src/{relative}:{number}: of {other}, only {PUBLIC_HEADERS[other]} is for others"


def check_links():
    layers = {layer.rsplit("/", 1)[-1]: layer for layer in MAY_USE}
    layers.update(LIBRARIES)
    for file in sorted(SRC.rglob("CMakeLists.txt")):
        relative = file.relative_to(SRC).as_posix()
        layer = layer_of(relative)
        if layer is None:
            continue
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            for name in LIBRARY.findall(line.split("#", 1)[0]):
                other = layers.get(name)
                if other is not None and other not in reachable(layer):
                    yield f"src/{relative}:{number}: {layer} may not link {other}"


def check_architecture_names():
    names = {path.stem for path in (SRC / "model" / "arch").glob("*.cpp")}
    if not names:
        return
    literal = re.compile(r'"(' + "|".join(map(re.escape, sorted(names))) + r')"')
    for file in sources():
        relative = file.relative_to(SRC).as_posix()
        if relative.startswith("model/arch/") or layer_of(relative) in NAMES_ALLOWED:
            continue
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            match = literal.search(line.split("//", 1)[0])
            if match:
                yield f"src/{relative}:{number}: \"{match[1]}\" names an architecture outside model/arch"


def main():
    problems = [*check_includes(), *check_links(), *check_architecture_names()]
    for problem in problems:
        print(problem)
    print(f"includes: {len(sources())} files, {len(problems)} violations")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
