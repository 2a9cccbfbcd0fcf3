#!/usr/bin/env python3
"""The engines that Brass is measured against: fetches or builds their libraries, and runs them in rounds.

    tools/bench/peers.py setup            build and fetch the peers (minutes; into ~/.cache/brass/peers)
    tools/bench/peers.py run [MODEL…]     pp512 and tg64 of every peer, flash attention off and on, as JSON; --depth N:
                                          behind N cached tokens

    native  llama.cpp 0.5.0 from the source package llama-cpp-python 0.3.36, built here with -DGGML_NATIVE=ON
    npm     llama.cpp 0.5.0 as prebuilt in @node-llama-cpp/linux-x64 3.22.1, which picks its CPU code at run time
    ik      ik_llama.cpp from the wheel ik-llama-cpp-python 0.1.5 (AVX2)

All are driven by one small program, peer.cpp, compiled against their own headers. Nothing of theirs enters the repository.
"""

import argparse
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import models  # noqa: E402

LLAMA_CPP_PYTHON = "0.3.36"
NODE_LLAMA_CPP = "3.22.1"
IK_LLAMA_CPP_PYTHON = "0.1.5"
LLAMA_CPP = "0.5.0"  # what both of the first two contain; the npm package has no header, so they must agree
PEERS = ("native", "npm", "ik")


def cache_dir():
    return models.cache_dir().parent / "peers"


def call(*command, cwd=None, env=None):
    print("+ " + " ".join(str(word) for word in command), file=sys.stderr, flush=True)
    subprocess.run([str(word) for word in command], cwd=cwd, check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr,
                   env=env)


def one(folder, pattern):
    found = sorted(folder.glob(pattern))
    if not found:
        sys.exit(f"peers: no {pattern} under {folder}; remove the folder and run setup again")
    return found[0]


def compile_driver(target, include_folders, library_folder, libraries, flags=()):
    temporary = target.with_suffix(".new")
    # RPATH, not RUNPATH: it also serves the libraries that the peer's libraries ask for.
    call("g++", "-std=c++17", "-O2", *flags, *[f"-I{folder}" for folder in include_folders], HERE / "peer.cpp",
         "-o", temporary, *libraries, f"-Wl,--disable-new-dtags,-rpath,{library_folder},--allow-shlib-undefined")
    temporary.rename(target)


def source_folder():
    """llama.cpp's source, as the package llama-cpp-python ships it."""
    folder = cache_dir() / "native"
    inside = f"llama_cpp_python-{LLAMA_CPP_PYTHON}/vendor/llama.cpp"
    if not (folder / inside / "CMakeLists.txt").exists():
        folder.mkdir(parents=True, exist_ok=True)
        call(sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", "llama-cpp-python", "--dest", folder,
             f"llama-cpp-python=={LLAMA_CPP_PYTHON}")
        with tarfile.open(one(folder, "llama_cpp_python-*.tar.gz")) as archive:
            archive.extractall(folder, [m for m in archive.getmembers() if m.name.startswith(inside)])
    return folder / inside


def headers():
    return [source_folder() / "include", source_folder() / "ggml" / "include"]


def setup_native(jobs):
    build = cache_dir() / "native" / "build"
    # Clang, because GCC 12's build dies with SIGILL in llama.cpp's AMX code (tileloadd) on processors that have AMX.
    # Only the library is built: its tools, server and tests are not measured.
    parts = [f"-DLLAMA_BUILD_{part}=OFF" for part in ("COMMON", "TESTS", "TOOLS", "EXAMPLES", "SERVER")]
    call("cmake", "-S", source_folder(), "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
         "-DCMAKE_C_COMPILER=clang-19", "-DCMAKE_CXX_COMPILER=clang++-19", "-DGGML_NATIVE=ON", "-DBUILD_SHARED_LIBS=ON",
         "-DLLAMA_CURL=OFF", *parts)
    call("nice", "-n", "15", "ninja", "-C", build, f"-j{jobs}", "llama")
    libraries = [build / "bin" / f"lib{name}.so" for name in ("llama", "ggml", "ggml-base")]
    compile_driver(cache_dir() / "peer-native", headers(), build / "bin", libraries)


def npm_folder():
    return cache_dir() / "npm" / "package" / "bins" / "linux-x64"


def setup_npm():
    folder = cache_dir() / "npm"
    if not npm_folder().exists():
        folder.mkdir(parents=True, exist_ok=True)
        call("npm", "pack", f"@node-llama-cpp/linux-x64@{NODE_LLAMA_CPP}", cwd=folder)
        with tarfile.open(one(folder, "*.tgz")) as archive:
            archive.extractall(folder)
    libraries = [npm_folder() / f"lib{name}.v{LLAMA_CPP}.so" for name in ("llama", "ggml")]
    compile_driver(cache_dir() / "peer-npm", headers(), npm_folder(), [*libraries, npm_folder() / "libggml-base.so"])


def setup_ik():
    folder = cache_dir() / "ik"
    libs = folder / "ik_llama_cpp_python.libs"
    if not libs.exists():
        folder.mkdir(parents=True, exist_ok=True)
        call(sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--python-version", "3.11",
             "--platform", "manylinux_2_28_x86_64", "--dest", folder, f"ik-llama-cpp-python=={IK_LLAMA_CPP_PYTHON}")
        with zipfile.ZipFile(one(folder, "ik_llama_cpp_python-*.whl")) as archive:
            archive.extractall(folder)
    compile_driver(cache_dir() / "peer-ik", [folder / "include"], libs, [one(libs, "libllama*"), one(libs, "libggml*")],
                   ["-DPEER_IK"])


LONGEST_ROUND = 512  # tokens of pp; tg is shorter


def context_for(depth):
    """Tokens of context that rounds behind so many cached ones need."""
    return max(1024, depth + LONGEST_ROUND + 64)


class Rounds:
    """A process that answers "pp N" and "tg N" with tokens per second: a peer's driver, or `brass rounds`."""

    def __init__(self, name, command, env=None):
        self.name = name
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=env)
        self.hello = self._answer()

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.name}: stopped with exit code {self.process.wait()}")
        return json.loads(line)

    def _say(self, word, count):
        self.process.stdin.write(f"{word} {count}\n")
        self.process.stdin.flush()

    def hold(self, depth):
        """Rounds from now on happen behind so many cached tokens."""
        self._say("depth", depth)

    def measure(self, phase, count):
        self._say(phase, count)
        return self._answer()["tps"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def open_peer(peer, flash, model_file, threads, depth=0):
    driver = cache_dir() / f"peer-{peer}"
    if not driver.exists():
        sys.exit(f"peers: '{peer}' is not built; run tools/bench/peers.py setup")
    command = [driver, model_file, threads, int(flash), context_for(depth)]
    if peer == "npm":
        command.append(npm_folder())
    return Rounds(config_name(peer, flash), command)


def config_name(peer, flash):
    return f"{peer}, flash attention {'on' if flash else 'off'}"


def configs(peers):
    return [(peer, flash) for peer in peers for flash in (False, True)]


def run(args):
    results = []
    for name in args.models or models.MODELS:
        file = models.fetch(name, models.cache_dir())
        for peer, flash in configs(args.peers):
            rounds = open_peer(peer, flash, file, args.threads, args.depth)
            rounds.hold(args.depth)
            row = {"model": name, "peer": peer, "flash_attention": flash, "depth": args.depth, "system": rounds.hello["system"],
                   "log": rounds.hello["log"], "pp512": [], "tg64": []}
            for _ in range(args.rounds):
                row["pp512"].append(rounds.measure("pp", 512))
                row["tg64"].append(rounds.measure("tg", 64))
            rounds.close()
            results.append(row)
            print(f"{name}, {config_name(peer, flash)}: pp512 {max(row['pp512']):.1f}, tg64 {max(row['tg64']):.1f} "
                  f"(best of {args.rounds})", file=sys.stderr)
    json.dump(results, sys.stdout, indent=1)
    print()


def main():
    parser = argparse.ArgumentParser(description="the engines that Brass is measured against")
    verbs = parser.add_subparsers(dest="verb", required=True)
    setup = verbs.add_parser("setup", help="build and fetch them")
    measure = verbs.add_parser("run", help="measure them, without Brass")
    for verb in (setup, measure):
        verb.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    setup.add_argument("--jobs", type=int, default=os.cpu_count())
    measure.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(models.MODELS))
    measure.add_argument("--threads", type=int, default=2)
    measure.add_argument("--rounds", type=int, default=5)
    measure.add_argument("--depth", type=int, default=0, help="tokens in the cache before each round")
    args = parser.parse_args()
    if args.verb == "run":
        return run(args)
    for peer in args.peers:
        {"native": lambda: setup_native(args.jobs), "npm": setup_npm, "ik": setup_ik}[peer]()
    return None


if __name__ == "__main__":
    sys.exit(main())
