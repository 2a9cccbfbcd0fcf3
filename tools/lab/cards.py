#!/usr/bin/env python3
"""Compiles what the models of the table run on AMD cards that are not here, and writes docs/rdna4.md.

    cards.py [--dots] [CARD…]      of gfx1201, navi31, navi21 (all three); only then the page is written that all are on

--dots: prompts by packed dot products, also on cards that have a matrix unit (those that have none take them anyway); printed only.

The programs and their constants are the product's own (lab_pipelines: the same lowering as of a device that runs); RADV compiles
them for a card that a no-op device stands for (tools/lab.sh card). Models are hollow files of brass-synth.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/release"
LAB = ROOT / "tools/lab.sh"
MODELS = {"qwen3-8b": "8B", "qwen3.5-9b": "9B", "qwen3-30b-a3b": "30B"}
CARDS = {  # name: title, layout of the matrix unit's tiles, most waves of a SIMD
    "gfx1201": ("RX 9070 XT (RDNA4)", "gfx12", 16),
    "navi31": ("RX 7900 XTX (RDNA3)", "gfx11", 16),
    "navi21": ("RX 6800 (RDNA2)", "", 16),
}
ROWS = "1,2,4,8,512,2048"
MOST_VGPRS = 96  # up to which RDNA4 runs 16 waves of 32 on a SIMD

# Programs that may miss 96 VGPRs, 16 waves, no spills: why. The longest prefix of the name that is found counts.
REASONS = {
    "matrix_product": "sums of 2 x 8 (narrow: 2 x 4) tiles and both operands' next step stay in registers: loads are hidden by "
    "arithmetic, not by waves",
    "flash": "a row's queries and the sums of a head's values stay in registers as tiles; those of heads of 256 are more than there are. "
    "To be mended on a card that can say what reading the queries again costs",
    "attend_split": "queries and sums of up to eight heads stay in registers, beside the next keys and values; where a row is alone its heads take shared memory, too",
    "attend_combine": "sums of all splits are under way together; a workgroup a head leaves most of the card idle in any case",
    "norm_row": "a row stays in registers between its norm and its int8 codes; at one token it is one workgroup, so waves are no limit",
    "combine_row": "as norm_row, with the experts' sums before it",
    "delta_step": "a thread's share of the state's column stays in registers while the tokens of a step go by",
    "delta_block": "a column of the state stays in registers over the whole prompt",
    "delta_net": "a column of the state stays in registers over the whole prompt",
    "gemv": "steps of two to eight rows hold the sums of all rows and what they read of x; at one row all but Q6_K of 2,048 columns (120 "
    "VGPRs, 12 waves) are within",
    "router": "eight vectors of a row of W and of x are under way together, and where it norms its row the gain's, too",
    "dots": "sixteen sums in each thread, what they are scaled by, and the next step's codes of both operands",
    "gemm": "sums of a tile of 4 x 4 in each thread and the next step's values; for cards without a matrix unit",
}


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout[-500:]}{done.stderr[-2000:]}")
    return done.stdout


def make_models(folder):
    for shape in MODELS:
        run(BUILD / "src/model/brass-synth", ROOT / f"tools/synth/shapes/{shape}.json", folder / f"{shape}.gguf", "--hollow")


def pipelines(card, folder, dots):
    """The device's line, and [(program, constants)] → figures, and where it is used."""
    layout = CARDS[card][1]
    found = {}
    device = None
    for shape, short in MODELS.items():
        flags = ["--rows", ROWS] + (["--matrix-layout", layout] if layout else []) + (["--prompt-products", "dots"] if dots else [])
        lines = run(LAB, "card", card, BUILD / "src/app/lab_pipelines", folder / f"{shape}.gguf", *flags).splitlines()
        device, *rows = map(json.loads, lines)
        for row in rows:
            key = (row["program"], tuple(row["constants"]))
            one = found.setdefault(key, {"figures": row["figures"], "models": [], "rows": set()})
            one["models"].append(short)
            one["rows"] |= {int(n) for n in row["uses"]}
    return device, found


def figure(figures, *names):
    for name in names:
        if name in figures:
            return figures[name]
    sys.exit(f"the driver gives none of {names}: {sorted(figures)}")


def measures(figures):
    """VGPRs, LDS bytes, waves, spilled registers, instructions, latency."""
    return (int(figure(figures, "VGPRs")), int(figure(figures, "LDS size", "LDS Size")),
            int(figure(figures, "Subgroups per SIMD", "Occupancy")),
            int(figure(figures, "Spilled SGPRs") + figure(figures, "Spilled VGPRs") + figure(figures, "Scratch size", "Scratch Size")),
            int(figure(figures, "Instructions")), int(figure(figures, "Latency")))


def misses(card, figures):
    vgprs, _, waves, spills, _, _ = measures(figures)
    return vgprs > MOST_VGPRS or waves < CARDS[card][2] or spills > 0


def reason(program):
    best = max((prefix for prefix in REASONS if program.startswith(prefix)), key=len, default=None)
    return REASONS[best] if best else "**not explained**"


def used(one):
    few = sorted(n for n in one["rows"] if n <= 8)
    many = sorted(n for n in one["rows"] if n > 8)
    parts = [f"{','.join(map(str, few))}"] if few else []
    parts += [f"{','.join(map(str, many))}"] if many else []
    return " and ".join(parts)


def table(card, found):
    lines = ["| program | constants | models | rows | VGPRs | LDS | waves | spills | instructions | latency |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    for (program, constants), one in sorted(found.items()):
        vgprs, lds, waves, spills, instructions, latency = measures(one["figures"])
        mark = " *" if misses(card, one["figures"]) else ""
        lines.append(f"| {program}{mark} | {' '.join(map(str, constants))} | {' '.join(one['models'])} | {used(one)} | {vgprs} | {lds} | "
                     f"{waves} | {spills} | {instructions} | {latency} |")
    return lines


def explained(card, found):
    missing = {}
    for (program, _), one in sorted(found.items()):
        if misses(card, one["figures"]):
            vgprs, _, waves, spills, _, _ = measures(one["figures"])
            missing.setdefault(program, []).append((vgprs, waves, spills))
    lines = []
    for program, all_of_it in missing.items():
        vgprs, waves, spills = zip(*all_of_it)
        lines.append(f"* `{program}` ({len(all_of_it)}): up to {max(vgprs)} VGPRs, down to {min(waves)} waves, "
                     f"{max(spills)} spilled: {reason(program)}")
    return lines or ["* none"]


def predictions(folder):
    """Of the RX 9070 XT, beside what others published."""
    phases = [("pp512", "prefill:512", 0), ("pp2048", "prefill:2048", 0), ("tg@0", "decode", 0), ("tg@8k", "decode", 8192),
              ("tg@32k", "decode", 32768)]
    published = {
        "qwen3-8b": "llama.cpp, RX 9070 XT: pp512 4,470 (Vulkan), 4,199 (HIP); tg 115, 91",
        "qwen3.5-9b": "R9700, the same die: llama.cpp tg 85.5, ZINC 97.5; llama.cpp (ROCm) pp2048 3,406 at a depth of 4k",
        "qwen3-30b-a3b": "R9700, Qwen3.5-35B-A3B: tg 109 to 167, prefill 2,599 (Vulkan), 4,047 (ROCm)",
    }
    lines = ["| Q4_K_M, tok/s, **predicted** | " + " | ".join(name for name, _, _ in phases) + " | published by others |",
             "|---|" + "---|" * (len(phases) + 1)]
    for shape in MODELS:
        cells = []
        for _, phase, depth in phases:
            out = json.loads(run(BUILD / "brass", "explain", folder / f"{shape}.gguf", "--assume", "rx9070xt", "--phase", phase,
                                 "--depth", depth, "--json"))
            cells.append(f"{out['tokens_per_second']:,.0f}")
        lines.append(f"| {shape} | {' | '.join(cells)} | {published[shape]} |")
    return lines


def check_of_the_model(folder):
    """The same arithmetic for the card that was measured: how far it may be off."""
    measured = {"qwen3-8b": (306, 14747), "qwen3.5-9b": (306, 13158), "qwen3-30b-a3b": (222, 16727)}
    lines = ["| H200 | decode predicted | measured | pp2048 predicted | measured |", "|---|---|---|---|---|"]
    for shape, (decode, prefill) in measured.items():
        found = []
        for phase in ("decode", "prefill:2048"):
            out = json.loads(run(BUILD / "brass", "explain", folder / f"{shape}.gguf", "--assume", "h200", "--phase", phase, "--json"))
            found.append(f"{out['tokens_per_second']:,.0f}")
        lines.append(f"| {shape} | {found[0]} | {decode} | {found[1]} | {prefill:,} |")
    return lines


HEAD = """# AMD cards, without a card

Written by `./dev lab rdna4` on {date}, {driver}. RADV compiles every program that the product runs for Qwen3-8B, Qwen3.5-9B and
Qwen3-30B-A3B (Q4_K_M) in steps of {rows} rows, with the constants that it runs them with, for cards that are not here: nothing of
this was run on one. *rows*: the steps that use a program. *spills*: registers, and bytes of scratch memory; 0: nothing. *latency*: RADV's
own estimate of cycles.

An RDNA4 SIMD runs 16 waves of 32 up to {most} VGPRs. What misses 16 waves, or {most} VGPRs, or spills, is marked (*), and explained
behind its table.

## What an RX 9070 XT would take

`brass explain MODEL --assume rx9070xt --phase P` (src/plan/predict.cpp has the rates that it assumes: 640 GB/s, of which 92 % are
read; 5 us a dependent step and the shares of the units as measured on an H200). A prediction for somebody with the card to judge.

{predictions}

The same arithmetic for an NVIDIA H200, where the figures of docs/gpu-notes.md were measured (2026-11-30). What it leaves out, norms and
attention of one row that are slower than a hop, weighs least where memory is slow:

{check}
"""


def main():
    dots = "--dots" in sys.argv[1:]
    cards = [word for word in sys.argv[1:] if word != "--dots"] or list(CARDS)
    for card in cards:
        if card not in CARDS:
            sys.exit(f"{card}: is not one of {', '.join(CARDS)}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_models(folder)
        parts, driver = [], ""
        for card in cards:
            device, found = pipelines(card, folder, dots)
            driver = device["driver"]
            unit = "with its matrix unit" if device["matrix_unit"] else "packed dot products" if device["dots"] else "no matrix unit"
            parts += [f"## {CARDS[card][0]}: {device['device']}, subgroups of {device['subgroup']}, {unit}", ""]
            parts += [*table(card, found), "", "Marked:", "", *explained(card, found), ""]
            wrong = sum(misses(card, one["figures"]) for one in found.values())
            print(f"{card}: {len(found)} pipelines, {wrong} beyond {MOST_VGPRS} VGPRs, below 16 waves or with spills")
        if dots or cards != list(CARDS):
            print("\n".join(parts))
            return
        text = HEAD.format(date=time.strftime("%Y-%m-%d"), driver=driver, rows=ROWS.replace(",", ", "), most=MOST_VGPRS,
                           predictions="\n".join(predictions(folder)), check="\n".join(check_of_the_model(folder)))
        (ROOT / "docs/rdna4.md").write_text(text + "\n" + "\n".join(parts))
        print("docs/rdna4.md")


main()
