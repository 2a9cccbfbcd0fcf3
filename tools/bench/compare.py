#!/usr/bin/env python3
"""Brass against the best of its peers on the real models, side by side in one run (./dev bench peers).

Every program stays loaded, and answers "pp 512" (prefill of 512 tokens) and "tg 64" (64 decoded tokens behind one more)
with tokens per second; sampling and tokenizing are in none of them. All get the same tokens. --depth N (more than one
allowed) measures behind so many cached tokens; without it, in an empty context.

1. Scouting: a few rounds of every peer configuration. Those within 5 % of the best go on.
2. Rounds: Brass and the remaining configurations in turn, in an order that flips from round to round, so that drift
   hits all alike. A round in which other programs took more than --foreign of the processors is dropped and run again.
3. The ratio of a round is Brass ÷ the peer configuration with the highest median. Reported: the median of the ratios
   and its 95 % bootstrap interval.

Prints a Markdown table; --write puts it into docs/benchmarks.md; --json keeps every number.
"""

import argparse
import json
import os
import platform
import random
import shlex
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import models  # noqa: E402
import peers  # noqa: E402

PHASES = {"prefill": ("pp", 512), "decode": ("tg", 64)}
TICKS = os.sysconf("SC_CLK_TCK")
SHORTEST = 0.6  # seconds; /proc/stat counts in hundredths, so a shorter sample could not tell foreign load
# The parts of docs/benchmarks.md that --write replaces: in an empty context, and with other depths.
EMPTY = "<!-- peers: written by ./dev bench peers --write -->", "<!-- peers: end -->"
AT_DEPTH = "<!-- peers at depth: written by ./dev bench peers --depth … --write -->", "<!-- peers at depth: end -->"


def busy_seconds():
    """Processor seconds that the whole machine has spent not idle, those stolen by its host included."""
    with open("/proc/stat") as stat:
        user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, stat.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / TICKS


def process_seconds(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def sample(program, phase):
    """(tokens per second, share of the processors that others took meanwhile)"""
    kind, count = PHASES[phase]
    begin, busy, own = time.monotonic(), busy_seconds(), process_seconds(program.process.pid)
    seconds = tokens = 0
    while seconds < SHORTEST:
        seconds += count / program.measure(kind, count)
        tokens += count
    wall = time.monotonic() - begin
    foreign = (busy_seconds() - busy) - (process_seconds(program.process.pid) - own)
    return tokens / seconds, max(0.0, foreign) / (wall * os.cpu_count())


def scout(configurations, phase, rounds):
    """The configurations worth comparing with: within 5 % of the best one's best."""
    best = {program: max(sample(program, phase)[0] for _ in range(rounds)) for program in configurations}
    top = max(best.values())
    return [program for program, speed in best.items() if speed >= 0.95 * top], best


def paired_rounds(brass, candidates, phase, args):
    """Speeds by program, one entry a round, loaded rounds left out; and how many were left out."""
    speeds = {program: [] for program in [brass, *candidates]}
    dropped = 0
    while len(speeds[brass]) < args.rounds:
        if dropped > args.rounds * 3:
            sys.exit(f"compare: {dropped} rounds dropped, other programs keep the machine busy; stop them, "
                     f"or raise --foreign (now {args.foreign:.0%})")
        order = list(speeds) if len(speeds[brass]) % 2 == 0 else list(speeds)[::-1]
        results = {program: sample(program, phase) for program in order}
        if max(foreign for _, foreign in results.values()) > args.foreign:
            dropped += 1
            continue
        for program, (speed, _) in results.items():
            speeds[program].append(speed)
    return speeds, dropped


def bootstrap(values, resamples=10000):
    """95 % interval of the median."""
    rng = random.Random(1)
    medians = sorted(statistics.median(rng.choices(values, k=len(values))) for _ in range(resamples))
    return medians[int(0.025 * resamples)], medians[int(0.975 * resamples)]


def compare_model(name, args):
    file = models.fetch(name, models.cache_dir())
    deepest = max(args.depth)
    brass = peers.Rounds("brass", [*shlex.split(args.brass), "rounds", file, "--threads", args.threads, "--context",
                                   peers.context_for(deepest)])
    opened = [peers.open_peer(peer, flash, file, args.threads, deepest) for peer, flash in peers.configs(args.peers)]
    rows = []
    for depth in args.depth:
        for program in [brass, *opened]:
            program.hold(depth)
        rows += compare_at(depth, name, brass, opened, args)
    systems = {program.name.split(",")[0]: program.hello["system"] for program in opened}
    for program in [brass, *opened]:
        program.close()
    return rows, systems, brass.hello


def compare_at(depth, name, brass, opened, args):
    rows = []
    for phase in PHASES:
        sample(brass, phase)  # warm
        candidates, scouted = scout(opened, phase, args.scout)
        speeds, dropped = paired_rounds(brass, candidates, phase, args)
        best = max(candidates, key=lambda program: statistics.median(speeds[program]))
        ratios = [ours / theirs for ours, theirs in zip(speeds[brass], speeds[best])]
        low, high = bootstrap(ratios)
        rows.append({"model": name, "phase": phase, "depth": depth, "brass": statistics.median(speeds[brass]), "best": best.name,
                     "peer": statistics.median(speeds[best]), "ratio": statistics.median(ratios), "low": low,
                     "high": high, "rounds": len(ratios), "dropped": dropped,
                     "speeds": {program.name: values for program, values in speeds.items()},
                     "scouted": {program.name: speed for program, speed in scouted.items()}})
        print(table_row(rows[-1]), file=sys.stderr, flush=True)
    return rows


def table_row(row):
    return (f"| {row['model']} | {row['phase']} | {row['depth']} | {row['brass']:.1f} | {row['peer']:.1f} | {row['best']} | "
            f"**{row['ratio']:.2f}** | {row['low']:.2f} … {row['high']:.2f} | {row['rounds']} (−{row['dropped']}) |")


def cpu_model():
    with open("/proc/cpuinfo") as info:
        names = {line.split(":", 1)[1].strip() for line in info if line.startswith(("model name", "CPU part"))}
    return ", ".join(sorted(names))


def report(rows, systems, hello, args):
    version = subprocess.run([*shlex.split(args.brass), "--version"], capture_output=True, text=True, check=True).stdout
    lines = [
        f"`{shlex.join(['./dev', 'bench', 'peers', *sys.argv[1:]])}` on {os.cpu_count()} × {cpu_model()}, "
        f"Linux {platform.release()}, {time.strftime('%Y-%m-%d')}; tokens per second, medians of the rounds; "
        "ratio: median and 95 % bootstrap interval.",
        "",
        "| model | phase | depth | Brass | best peer | which | ratio | 95 % | rounds (dropped) |",
        "|---|---|---:|---:|---:|---|---:|---|---|",
        *map(table_row, rows),
        "",
        f"* Brass: {' '.join(version.split())}; {hello.get('ready', '')}",
    ]
    lines += [f"* {peer}: {system}" for peer, system in systems.items()]
    return "\n".join(lines) + "\n"


def write_into_docs(text, depths):
    begin, end = EMPTY if depths == [0] else AT_DEPTH
    page = ROOT / "docs" / "benchmarks.md"
    before, _, rest = page.read_text().partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        sys.exit(f"compare: {page} has no lines '{begin}' and '{end}'")
    page.write_text(f"{before}{begin}\n{text}{end}{after}")


def main():
    parser = argparse.ArgumentParser(description="Brass against its peers, side by side",
                                     epilog="example: ./dev bench peers smollm2 --rounds 10")
    parser.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(models.MODELS) + " (all if none)")
    parser.add_argument("--brass", default=str(ROOT / "build/release/brass"), help="the program, with flags if need be")
    parser.add_argument("--peers", nargs="+", choices=peers.PEERS, default=["native", "npm"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--depth", type=int, nargs="+", default=[0], help="tokens in the cache before each round")
    parser.add_argument("--scout", type=int, default=3, help="rounds that pick the peer configurations to compare with")
    parser.add_argument("--foreign", type=float, default=0.05, help="share of the processors that others may take")
    parser.add_argument("--bar", type=float, help="fail unless every interval lies above this ratio")
    parser.add_argument("--json", metavar="FILE", help="keep every number here")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    args = parser.parse_args()
    for name in args.models:
        if name not in models.MODELS:
            parser.error(f"no model named '{name}'; there are {', '.join(models.MODELS)}")
    if min(args.depth) < 0:
        parser.error("--depth: is negative")

    rows, systems, hello = [], {}, {}
    for name in args.models or models.MODELS:
        more, systems, hello = compare_model(name, args)
        rows += more
    text = report(rows, systems, hello, args)
    print(text, end="")
    if args.json:
        Path(args.json).write_text(json.dumps({"rows": rows, "systems": systems, "brass": hello}, indent=1))
    if args.write:
        write_into_docs(text, args.depth)
    below = [row for row in rows if args.bar is not None and row["low"] <= args.bar]
    for row in below:
        print(f"compare: {row['model']} {row['phase']} at {row['depth']}: the interval reaches down to {row['low']:.3f}", file=sys.stderr)
    return 1 if below else 0


if __name__ == "__main__":
    sys.exit(main())
