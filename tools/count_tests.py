#!/usr/bin/env python3
"""Adds up what ctest's logs say: the closing line of ./dev test.

    tools/count_tests.py [--failed-steps N] BUILD_FOLDER…

Counts single GoogleTest cases; a program that died before its own summary is one failure, and so is each failed step.
Prints "N passed, N failed, N skipped"; exits with 1 unless some passed and none failed.
"""

import argparse
import re
import sys
from pathlib import Path

SUMMARY = re.compile(r"^\[  (PASSED|FAILED|SKIPPED) ?\s*\] (\d+) tests?", re.MULTILINE)
PROGRAM = re.compile(r"^\d+/\d+ Testing: ", re.MULTILINE)


def count(log):
    totals = {"PASSED": 0, "FAILED": 0, "SKIPPED": 0}
    for program in PROGRAM.split(log)[1:]:
        found = {kind: int(number) for kind, number in SUMMARY.findall(program)}
        if "PASSED" not in found or ("Test Passed." not in program and not found.get("FAILED")):
            found["FAILED"] = max(1, found.get("FAILED", 0))
        for kind, number in found.items():
            totals[kind] += number
    return totals


def main():
    parser = argparse.ArgumentParser(description="add up what ctest's logs say")
    parser.add_argument("--failed-steps", type=int, default=0)
    parser.add_argument("builds", nargs="+", type=Path, metavar="BUILD_FOLDER")
    args = parser.parse_args()
    totals = {"PASSED": 0, "FAILED": args.failed_steps, "SKIPPED": 0}
    for build in args.builds:
        log = build / "Testing" / "Temporary" / "LastTest.log"
        if log.exists():
            for kind, number in count(log.read_text(errors="replace")).items():
                totals[kind] += number
        else:
            print(f"{build}: its tests did not run")
    print(f"{totals['PASSED']} passed, {totals['FAILED']} failed, {totals['SKIPPED']} skipped")
    return 0 if totals["PASSED"] and not totals["FAILED"] else 1


if __name__ == "__main__":
    sys.exit(main())
