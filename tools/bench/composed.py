#!/usr/bin/env python3
"""Workloads composed from measured curves against the same workloads run: the table of docs/bench.md.

    tools/bench/composed.py build/release/brass MODEL… [--workload 2k/512 …] [--seconds 200] [--write]

Fails when a composed figure is more than 10 % off.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "bench.md"
BEGIN, END = "<!-- composed: written by tools/bench/composed.py --write -->", "<!-- composed: end -->"
BOUND = 0.10


def rows_of(brass, model, workloads, seconds):
    command = [brass, "bench", model, "--json", "--seconds", str(seconds)]
    for workload in workloads:
        command += ["--workload", workload]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    for row in report["workloads"]:
        if "measured" in row and "composed" in row:
            yield report["head"]["model"], row["name"], row["composed"], row["measured"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("brass")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--workload", action="append", default=[])
    parser.add_argument("--seconds", type=int, default=200)
    parser.add_argument("--write", action="store_true", help="puts the table into docs/bench.md")
    args = parser.parse_args()
    lines = ["| model | workload | prefill composed / measured | decode composed / measured | total off by |", "|---|---|---:|---:|---:|"]
    worst = 0.0
    for model in args.models:
        for name, workload, composed, measured in rows_of(args.brass, model, args.workload, args.seconds):
            off = composed["total_s"] / measured["total_s"] - 1
            worst = max(worst, abs(off))
            lines.append(f"| {name} | {workload} | {composed['prefill_s']:.2f} / {measured['prefill_s']:.2f} s "
                         f"| {composed['decode_s']:.2f} / {measured['decode_s']:.2f} s | {off:+.1%} |")
    table = "\n".join(lines)
    print(table)
    print(f"largest difference {worst:.1%}")
    if args.write:
        page = PAGE.read_text(encoding="utf-8")
        names = " ".join(Path(m).name for m in args.models)
        flags = "".join(f" --workload {w}" for w in args.workload)
        text = f"{BEGIN}\n`tools/bench/composed.py build/release/brass {names}{flags} --seconds {args.seconds} --write`\n\n{table}\n{END}"
        PAGE.write_text(page[:page.index(BEGIN)] + text + page[page.index(END) + len(END):], encoding="utf-8")
    sys.exit(0 if worst <= BOUND else 1)


if __name__ == "__main__":
    main()
