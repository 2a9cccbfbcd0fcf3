#!/usr/bin/env python3
"""Judges calls that random walks through the grammars of tool calls give, read back by the parser.

    pip install jsonschema
    call_walks.py --driver build/release/call_walks TEMPLATE.jinja [TEMPLATE.jinja ...] [-n 20] [--tool-sets 5] [--seed 1]

For each template (all that are given), choice of tools (auto, required; several calls or one) and set of random tools,
the driver walks through the grammar byte by byte, and reads the text with the parser of the same format. Each text must
be calls and nothing else, each call one of the tools, and its arguments valid for the `jsonschema` package. Exits with 1
if any is not. The schemas are those of structured_output.py's generator.
"""

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile

import jsonschema

from structured_output import Schemas


def random_tools(schemas, count):
    tools = []
    for i in range(count):
        schemas.defs = {}
        parameters = schemas.make_object(0)
        if schemas.defs:
            parameters["$defs"] = schemas.defs
        tools.append({"type": "function", "function": {"name": f"tool_{i}", "parameters": parameters}})
    return tools


def fault_of(line, validators):
    if line["choice"] == "calls" and not line["calls"]:
        return "no call"
    if line["choice"] == "calls" and line["content"]:
        return f"content {line['content']!r}"
    if not line["parallel"] and len(line["calls"]) > 1:
        return "more than one call"
    for call in line["calls"]:
        if call["name"] not in validators:
            return f"no tool {call['name']}"
        try:
            value = json.loads(call["arguments"])
        except ValueError as error:
            return f"arguments {call['arguments']}: {error}"
        for error in validators[call["name"]].iter_errors(value):
            return f"{call['name']} {call['arguments']}: {error.message}"
    return None


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("templates", nargs="+")
    arguments.add_argument("--driver", required=True)
    arguments.add_argument("-n", type=int, default=20, help="walks for each kind of grammar")
    arguments.add_argument("--tool-sets", type=int, default=5)
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    schemas = Schemas(options.seed)
    counts, bad, refused = collections.Counter(), 0, 0
    for tool_set in range(options.tool_sets):
        tools = random_tools(schemas, 3)
        validators = {tool["function"]["name"]: jsonschema.Draft202012Validator(
            tool["function"]["parameters"], format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER) for tool in tools}
        with tempfile.NamedTemporaryFile("w", suffix=".json") as out:
            json.dump(tools, out)
            out.flush()
            done = subprocess.run([options.driver, out.name, str(options.n), str(options.seed + tool_set), *options.templates],
                                  capture_output=True, text=True, check=False)
        for fault in done.stderr.splitlines():
            refused += "keyword" in fault
            if "keyword" not in fault:
                bad += 1
                print(f"FAILED: {fault}\n  tools {json.dumps(tools)}")
        for text in done.stdout.splitlines():
            line = json.loads(text)
            counts[os.path.basename(line["template"])] += 1
            fault = fault_of(line, validators)
            if fault is None:
                continue
            bad += 1
            print(f"WRONG: {line['template']} ({line['format']}): {fault}\n  text {line['text']!r}\n  tools {json.dumps(tools)}")
    for name, count in sorted(counts.items()):
        print(f"{count:6} {name}")
    print(f"{sum(counts.values())} texts of {len(counts)} templates, {bad} wrong; {refused} sets of tools refused by keyword")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
