#!/usr/bin/env python3
"""The table of docs/kernels.md: the matrix product in every weight format, beside llama.cpp's (npm's prebuilt libraries).

    tools/bench/kernel_table.py [TYPE…] [--rounds 3] [--write]

The two take turns, format by format: one process of bench_kernels, one of peer_kernels.py, --rounds times each. Both
multiply an N × K weight of --megabytes (far larger than the caches) with 1 and 4 columns, and one of 4096 rows with 512,
on two threads, and give the best of some rounds on the wall clock; the table has the medians of those.

GB/s are bytes of the weight in the file ÷ time, for both, so a larger copy in memory counts for nothing.
Exit code 1: a quantized format is below 60 % of Q4_K's GB/s at T = 1, or has no kernel.
"""

import argparse
import json
import os
import platform
import shlex
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))
import peer_kernels  # noqa: E402
import peers  # noqa: E402

FLOATS = {"F32", "F16", "BF16"}
FLOOR = 0.6
TOKENS = ("1", "4", "512")
DOC = ROOT / "docs" / "kernels.md"
BEGIN, END = "<!-- kernels: written by tools/bench/kernel_table.py --write -->", "<!-- kernels: end -->"


def answer_of(command):
    """What a program prints as one line of JSON."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(map(str, command))}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)


def measure(kind, args):
    """{"brass": answers, "peer": answers} of the rounds, or None where Brass has no kernel for the format."""
    wrap = shlex.split(args.wrap)
    answers = {"brass": [], "peer": []}
    for _ in range(args.rounds):
        tier = ["--tier", args.tier] if args.tier else []
        brass = answer_of([*wrap, args.program, "--json", "--type", kind, "--cols", args.cols, "--megabytes",
                           args.megabytes, *tier])
        if "missing" in brass:
            return None
        answers["brass"].append(brass)
        answers["peer"].append(answer_of([*wrap, sys.executable, HERE / "peer_kernels.py", kind, "--cols", args.cols,
                                          "--rows", brass["rows"], "--rows-512", brass["rows_at_512"]]))
    return answers


def summary(answers):
    """Medians: GB/s of file bytes at one token, GFLOP/s at 1, 4 and 512, the error; and where it lies in memory."""
    first = answers[0]
    out = {"nrmse": first["nrmse"], "first": first}
    for tokens in TOKENS:
        seconds = statistics.median(answer["seconds"][tokens] for answer in answers)
        rows = first["rows_at_512" if tokens == "512" else "rows"]
        out["gflops" + tokens] = 2e-9 * rows * first["cols"] * int(tokens) / seconds
        if tokens == "1":
            out["gbs"] = 1e-9 * rows * first["file_row_bytes"] / seconds
    return out


def row(kind, sides, base):
    if sides is None:
        return f"| {kind} | no kernel |" + " |" * 11
    brass, peer = sides["brass"], sides["peer"]
    cells = [kind, f"{brass['gbs']:.1f}", f"{peer['gbs']:.1f}", f"{brass['gbs'] / peer['gbs']:.2f}"]
    for tokens in TOKENS[1:]:
        ours, theirs = brass["gflops" + tokens], peer["gflops" + tokens]
        cells += [f"{ours:.0f}", f"{theirs:.0f}", f"{ours / theirs:.2f}"]
    share = f"{brass['gbs'] / base:.0%}" if base else "?"
    placed = peer["first"]["buffer"].replace("CPU_REPACK", "repacked").replace("CPU", "as filed")
    packed = brass["first"]["packed_row_bytes"] / brass["first"]["file_row_bytes"]
    cells += [f"{brass['nrmse']:.4f}", f"{peer['nrmse']:.4f}", share, f"{packed:.2f}", placed]
    return "| " + " | ".join(cells) + " |"


def processor():
    with open("/proc/cpuinfo") as info:
        fields = dict(map(str.strip, line.split(":", 1)) for line in info if ":" in line)
    return f"{fields['model name']} (family {fields['cpu family']}, model {fields['model']}), " \
           f"{os.cpu_count()} processors, {platform.system()} {platform.release()}"


def command(args):
    tier = ["--tier", args.tier] if args.tier else []
    return shlex.join(["tools/bench/kernel_table.py", *args.types, "--rounds", str(args.rounds), *tier])


def table(results, args):
    done = [sides for sides in results.values() if sides]
    base = results["Q4_K"]["brass"]["gbs"] if results.get("Q4_K") else None
    first = done[0]
    lines = [f"Machine: {processor()}. Brass: tier {first['brass']['first']['tier']}. llama.cpp {peers.LLAMA_CPP}: "
             f"{first['peer']['first']['system']}.", "",
             f"K = {args.cols}, {args.megabytes} MB of weights at T = 1 and 4, 4096 rows at T = 512, 2 threads; medians "
             f"of {args.rounds} alternating rounds: `{command(args)}`.", "",
             "| | T = 1, GB/s: Brass | llama.cpp | ratio | T = 4, GFLOP/s: Brass | llama.cpp | ratio | "
             "T = 512, GFLOP/s: Brass | llama.cpp | ratio | error: Brass | llama.cpp | GB/s ÷ Q4_K's | packed ÷ file | "
             "llama.cpp's place |", "|---|" + "---:|" * 13 + "---|"]
    lines += [row(kind, sides, base) for kind, sides in results.items()]
    return lines, base


def below_floor(results, base):
    out = [f"{kind} has no kernel" for kind, sides in results.items() if sides is None]
    for kind, sides in results.items():
        if sides and base and kind not in FLOATS and sides["brass"]["gbs"] < FLOOR * base:
            out.append(f"{kind}: {sides['brass']['gbs'] / base:.1%} of Q4_K's GB/s at T = 1")
    return out


def write(lines):
    text = DOC.read_text()
    head, rest = text.split(BEGIN)
    DOC.write_text(head + BEGIN + "\n" + "\n".join(lines) + "\n" + END + rest.split(END)[1])


def main():
    parser = argparse.ArgumentParser(description="every weight format's matrix product, beside llama.cpp's")
    parser.add_argument("types", nargs="*", metavar="TYPE", help=", ".join(peer_kernels.TYPES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cols", type=int, default=4096)
    parser.add_argument("--megabytes", type=int, default=512)
    parser.add_argument("--tier", help="Brass's, instead of the best one here")
    parser.add_argument("--program", default=ROOT / "build/release/src/backend/cpu/bench_kernels")
    parser.add_argument("--wrap", default="", help="a command to run each program under, such as 'nice -n -10'")
    parser.add_argument("--write", action="store_true", help="put the table into docs/kernels.md")
    args = parser.parse_args()
    unknown = [kind for kind in args.types if kind not in peer_kernels.TYPES]
    if unknown:
        parser.error(f"no type {unknown[0]}; there are {', '.join(peer_kernels.TYPES)}")
    results = {}
    for kind in args.types or peer_kernels.TYPES:
        answers = measure(kind, args)
        results[kind] = {side: summary(list_) for side, list_ in answers.items()} if answers else None
        print(row(kind, results[kind], None), file=sys.stderr, flush=True)
    if not any(results.values()):
        sys.exit("kernel_table: none of these formats has a kernel")
    lines, base = table(results, args)
    failing = below_floor(results, base)
    lines += ["", f"Below {FLOOR:.0%} of Q4_K's GB/s at T = 1, or without a kernel: {'; '.join(failing) or 'none'}."]
    print("\n".join(lines))
    if args.write:
        write(lines)
    return 1 if failing else 0


if __name__ == "__main__":
    sys.exit(main())
