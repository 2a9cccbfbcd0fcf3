#!/usr/bin/env python3
"""Checks a built brass against the golden files: float32 references of four real models.

For each model: the mean negative log-likelihood of the long text, the ten best logits behind each prompt, and the
argmax at every position of prompt + reference reply whose gap to the runner-up is clear. Prints one line a check;
exits with 1 if any failed. What was not at hand is said and skipped.
"""
import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

MODELS = {  # golden file (without .json): file in the model cache
    "SmolLM2-135M-Instruct.Q4_1": "smollm2-135m-instruct-q4_1.gguf",
    "gemma-3-270m-q4_k_m": "gemma-3-270m-q4_k_m.gguf",
    "qwen2.5-coder-0.5b-q4_k_m": "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    "qwen2.5-coder-1.5b-q4_k_m": "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
}
CLEAR_GAP = 0.4  # of the reference's two best logits
NLL_BOUND = {"ref": 1e-3, "cpu": 2.5e-3}  # relative, of the mean over the long text
LOGIT_BOUND = {"ref": 2e-3}  # of the spread (best minus tenth) of the reference's ten best


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def add(self, name, good, detail):
        self.passed += good
        self.failed += not good
        print(f"{'ok  ' if good else 'FAIL'} {name}: {detail}", flush=True)


def evaluate(brass, model, device, extra, **source):
    command = [brass, "eval", model, "--device", device, "--json", *extra]
    for flag, value in source.items():
        command += ["--" + flag.replace("_", "-"), value]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def check_prompt(checks, label, name, prompt, run, device):
    """Ten best logits behind the prompt; argmax along the reference reply."""
    tokens, reply = prompt["tokens"], prompt["greedy"]
    ids = ",".join(map(str, tokens + reply))
    positions = run(ids=ids, top="64")["positions"]
    first = dict(map(tuple, positions[len(tokens) - 1]["top"]))
    wanted = prompt["top10_first"]
    spread = wanted[0][1] - wanted[-1][1]
    worst = max(abs(first.get(i, float("inf")) - logit) for i, logit in wanted) / spread
    if device in LOGIT_BOUND:
        checks.add(f"{label} {name} top 10", worst <= LOGIT_BOUND[device], f"off by {worst:.1e} of the spread")
    wrong = [
        i
        for i, (token, gap) in enumerate(zip(reply, prompt["gap"]))
        if gap >= CLEAR_GAP and positions[len(tokens) - 1 + i]["top"][0][0] != token
    ]
    clear = sum(gap >= CLEAR_GAP for gap in prompt["gap"])
    checks.add(f"{label} {name} argmax", not wrong, f"{clear - len(wrong)} of {clear} clear positions")


def check_model(checks, brass, golden_folder, golden, model, device, extra):
    reference = json.loads((golden_folder / f"{golden}.json").read_text())
    label = f"{golden} {device}"

    def run(**source):
        return evaluate(brass, model, device, extra, **source)

    for name, prompt in reference.items():
        if "mean_nll" in prompt:
            result = run(text_file=str(golden_folder / "seed_head.txt"), top="1")
            same = result["ids"] == prompt["tokens"] or "tokens" not in prompt
            checks.add(f"{label} {name} tokens", same, f"{len(result['ids'])}")
            off = abs(result["mean_nll"] / prompt["mean_nll"] - 1)
            checks.add(f"{label} {name} mean nll", off <= NLL_BOUND[device],
                       f"{result['mean_nll']:.5f}, reference {prompt['mean_nll']:.5f}, off by {100 * off:.3f} %")
        else:
            check_prompt(checks, label, name, prompt, run, device)


def main():
    root = Path(__file__).resolve().parent.parent
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "brass" / "models"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--brass", default=str(root / "build/release/brass"))
    parser.add_argument("--golden", default=os.environ.get("BRASS_SHARED_DATA", str(root / "../shared/data")) + "/golden")
    parser.add_argument("--models", default=str(cache), help="folder of the model files (./dev models fetches them)")
    parser.add_argument("--device", action="append", choices=["ref", "cpu"], help="default: both")
    parser.add_argument("--only", help="models whose name holds this text")
    parser.add_argument("--flag", action="append", default=[], help="one more argument for brass eval, as --flag=--isa=avx2")
    options = parser.parse_args()

    golden_folder = Path(options.golden)
    if not golden_folder.exists():
        print(f"skipped: the golden files are not at {golden_folder}")
        return 0
    checks = Checks()
    for golden, file in MODELS.items():
        path = Path(options.models) / file
        if options.only and options.only.lower() not in golden.lower():
            continue
        if not path.exists():
            print(f"skipped: {golden}: {path} is not there (./dev models)")
            continue
        for device in options.device or ["ref", "cpu"]:
            check_model(checks, options.brass, golden_folder, golden, str(path), device, options.flag)
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
