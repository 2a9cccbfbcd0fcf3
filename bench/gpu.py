"""What bench/gpu.sh runs: for each model a file, a check of its logits, times, a profile; tables as Markdown.

The read roof is the device's own probe (`roof 1` of `brass rounds`): a loop that only reads. A share of it is the bytes that the
plan says (`brass explain --json`) by the time that was measured.
"""

import json
import math
import os
import random
import subprocess
import sys
import time

BEGIN = time.monotonic()
BRASS, SYNTH, SHAPES, WORK = (os.environ[k] for k in ("BRASS", "BRASS_SYNTH", "SHAPES", "WORK"))
DEVICE = ["--device", *os.environ.get("DEVICE", "vulkan").split()]
SECONDS = float(os.environ.get("SECONDS_IN_ALL", "480"))
DEPTHS = [int(d) for d in os.environ.get("DEPTHS", "0 8192 32768").split()]
PROMPTS = [int(p) for p in os.environ.get("PROMPTS", "512 2048").split()]
TOKENS = int(os.environ.get("TOKENS", "128"))
LAYERS = os.environ.get("LAYERS", "")
CHECK_LAYERS = int(os.environ.get("CHECK_LAYERS", "8"))
LARGEST_ERROR = 0.25  # of the logits' spread: activations of both sides are rounded to int8, which costs 0.01 to 0.1

# Measured with llama.cpp v0.5.0 (2026-09-28), CUDA, on an NVIDIA H200, files of the same sizes; and what Brass is to reach there.
PEER = {
    "qwen3.5-9b": {"pp512": 8500, "pp2048": 8761, "tg@0": 217, "tg@8192": 208, "tg@32768": 192},
    "qwen3-8b": {"pp512": 9730, "pp2048": 9917, "tg@0": 247},
    "qwen3-30b-a3b": {"pp512": 11837, "pp2048": 11224, "tg@0": 240},
}
GOAL = {
    "qwen3.5-9b": {"pp2048": 13000, "tg@0": 500, "tg@32768": 420},
    "qwen3-8b": {"pp2048": 15000, "tg@0": 550},
    "qwen3-30b-a3b": {"pp2048": 18000, "tg@0": 550},
}


def left():
    return SECONDS - (time.monotonic() - BEGIN)


def run(*command, lines=None):
    """The command's output; it may take what is left of the time."""
    done = subprocess.run([str(c) for c in command], input=lines, capture_output=True, text=True, timeout=max(left(), 1))
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command[:3]))}: exit {done.returncode}: {done.stderr.strip()[-400:]}")
    return done.stdout


def make(shape, layers, name):
    path = os.path.join(WORK, name)
    run(SYNTH, os.path.join(SHAPES, shape + ".json"), path, *(["--layers", layers] if layers else []))
    return path


# ---- logits against the CPU's


def logits(path, ids, chunk, device, vocabulary):
    out = json.loads(run(BRASS, "eval", path, "--ids", ",".join(map(str, ids)), "--top", vocabulary, "--chunk", chunk,
                         "--json", "--context", 256, *device))
    return [dict(p["top"]) for p in out["positions"]]


def distance(base, other):
    """Root mean square of the difference, by the standard deviation of the base's logits; where the best is the same one."""
    squares = spread = 0.0
    same = 0
    for a, b in zip(base, other):
        mean = sum(a.values()) / len(a)
        spread += sum((x - mean) ** 2 for x in a.values())
        squares += sum((x - b[i]) ** 2 for i, x in a.items())
        same += max(a, key=a.get) == max(b, key=b.get)
    return math.sqrt(squares / spread), same


def check(shape):
    """Few rows (decode's programs) and many (prompts') against the CPU. False where they are too far from it."""
    with open(os.path.join(SHAPES, shape + ".json"), encoding="utf-8") as file:
        vocabulary = json.load(file)["vocabulary"]
    path = make(shape, LAYERS or CHECK_LAYERS, "check.gguf")
    ids = [random.Random(1).randrange(vocabulary - 1) for _ in range(12)]
    try:
        base = logits(path, ids, 64, ["--device", "cpu"], vocabulary)
        fine = True
        for name, chunk in (("token by token", 1), ("as a prompt", 64)):
            error, same = distance(base, logits(path, ids, chunk, DEVICE, vocabulary))
            fine = fine and error <= LARGEST_ERROR
            print(f"logits of {len(ids)} tokens {name} ({LAYERS or CHECK_LAYERS} blocks) against cpu: {error:.1e} of their "
                  f"spread, {same} of {len(ids)} first choices the same{'' if error <= LARGEST_ERROR else '  ** TOO FAR **'}")
        return fine
    finally:
        os.remove(path)


# ---- times


class Rounds:
    """A warm `brass rounds`."""

    def __init__(self, path):
        context = max(max(DEPTHS) + TOKENS, max(PROMPTS)) + 64
        self.process = subprocess.Popen([BRASS, "rounds", path, *DEVICE, "--context", str(context), "--chunk", "2048"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.device = self.read()["ready"]

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"brass rounds: ended ({self.process.wait()})")
        return json.loads(line)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return {} if line.startswith("depth") else self.read()

    def best(self, line, times):
        return max(self.ask(line)["tps"] for _ in range(times))

    def profile(self, line):
        rows = [self.ask(line)]
        while "step" in rows[-1]:
            rows.append(self.read())
        return rows[:-1], rows[-1]["microseconds"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def explain(path, phase, depth=0):
    return json.loads(run(BRASS, "explain", path, *DEVICE, "--phase", phase, "--depth", depth, "--json"))


def bytes_of(cost):
    return sum(cost[k] for k in ("weight_bytes", "kv_read_bytes", "kv_written_bytes", "state_bytes"))


def kinds(plan):
    """As `brass rounds` names kinds of steps: bytes and flops of each."""
    out = {}
    for step in plan["steps"]:
        name = step["step"].split(".", 2)[2] if step["step"].startswith("blk.") else step["step"]
        total = out.setdefault(f"{name} {step['kernel']}", [0, 0])
        total[0] += bytes_of(step["cost"])
        total[1] += step["cost"]["flops"]
    return out


def print_profile(title, rows, total, plan, roof):
    print(f"\n{title}: {total / 1000:.2f} ms, each kind of step between timestamps and behind a barrier")
    print("\n| us | count | share | GB/s (of the roof) | TFLOP/s | step |\n|---|---|---|---|---|---|")
    costs = kinds(plan)
    for row in rows[:16]:
        size, flops = costs.get(row["step"], (0, 0))
        seconds = max(row["microseconds"], 1e-3) * 1e-6
        speed = size / seconds / 1e9
        print(f"| {row['microseconds']:.1f} | {row['count']} | {row['microseconds'] / total:.1%} | {speed:.3g}"
              f" ({speed / roof:.0%}) | {flops / seconds / 1e12:.2g} | {row['step'][:110]} |")
    rest = sum(row["microseconds"] for row in rows[16:])
    if rest:
        print(f"| {rest:.1f} | | {rest / total:.1%} | | | all others |")


def print_row(shape, what, tps, note):
    peer, goal = (table.get(shape, {}).get(what.replace("greedy", "tg")) for table in (PEER, GOAL))
    against = f"{peer} ({tps / peer:.2f} x)" if peer and not LAYERS else "-"
    wanted = f"{goal} ({tps / goal:.0%})" if goal and not LAYERS else "-"
    print(f"| {what} | {tps:.1f} | {note} | {against} | {wanted} |", flush=True)


def measure(shape, path):
    rounds = Rounds(path)
    print(f"device: {rounds.device}")
    roof = rounds.ask("roof 1")["read_gb_per_second"]
    print(f"read roof: {roof:.4g} GB/s\n\n| what | tok/s | of a ceiling | llama.cpp CUDA on an H200 | goal |\n|---|---|---|---|---|")
    for n in PROMPTS:
        tps = rounds.best(f"pp {n}", 4)
        flops = explain(path, f"prefill:{n}")["totals"]["flops"] / n
        print_row(shape, f"pp{n}", tps, f"{tps * flops / 1e12:.0f} TFLOP/s")
    for depth in DEPTHS:
        if left() < 10:
            print(f"| tg@{depth} | left out: the time is over |")
            continue
        rounds.ask(f"depth {depth}")
        size = bytes_of(explain(path, "decode", depth + TOKENS // 2)["totals"])
        for what in ("tg", "greedy"):  # logits to the CPU; the token chosen on the device, as `brass run --greedy` does it
            tps = rounds.best(f"{what} {TOKENS}", 2)
            print_row(shape, f"{what}@{depth}", tps, f"{tps * size / 1e9 / roof:.0%} of the roof ({size / 1e6:.0f} MB)")
    rounds.ask("depth 0")
    print_profile("a decoded token", *rounds.profile("profile 8"), explain(path, "decode"), roof)
    n = max(PROMPTS)
    print_profile(f"a prompt of {n}", *rounds.profile(f"profile_pp {n}"), explain(path, f"prefill:{n}"), roof)
    rounds.close()


def main(shapes):
    print(run(BRASS, "devices"))
    print(f"`bench/gpu.sh {' '.join(shapes)}`, {time.strftime('%Y-%m-%d')}, {run(BRASS, '--version').strip()}")
    failed = []
    for shape in shapes:
        print(f"\n## {shape}{f', {LAYERS} blocks' if LAYERS else ''}, Q4_K_M, random weights\n", flush=True)
        path = None
        try:
            if CHECK_LAYERS and not check(shape):
                failed.append(shape)
            path = make(shape, LAYERS, "model.gguf")
            measure(shape, path)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            print(f"\n** {error}")
            failed.append(shape)
        finally:
            if path:
                os.remove(path)
        print(f"\n{time.monotonic() - BEGIN:.0f} s so far", flush=True)
        if left() < 30:
            break
    print(f"\nfailed: {', '.join(failed)}" if failed else "\nall of it done")
    return 1 if failed else 0


sys.exit(main(sys.argv[1:]))
