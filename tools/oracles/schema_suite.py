#!/usr/bin/env python3
"""Judges `brass grammar check` by the JSON Schema Test Suite (2020-12 and draft 7).

The suite (MIT, Copyright (c) 2012 Julian Berman) is inside the source package of PyPI's jsonschema:

    pip download --no-binary :all: --no-deps jsonschema && tar xf jsonschema-*.tar.gz
    tools/oracles/schema_suite.py --brass build/release/brass --suite jsonschema-*/json

Every instance is accepted or rejected rightly, or its schema is refused by name: what is misjudged is printed and makes
the exit code 1, what is refused is counted by file and reason. --fixture writes the supported cases that
tests/grammar/schema_suite_test.cpp runs.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys

# format.json takes `format` for an annotation, optional/format/ for an assertion.
ANNOTATED = {"format.json"}
# Where docs/json-schema.md says otherwise than the suite: the labels of host names are not decoded, content… is an annotation
# in draft 7, too.
DOCUMENTED = {"optional/format/hostname.json", "optional/content.json"}


class Brass:
    """One long-lived process."""

    def __init__(self, brass, *flags):
        self.process = subprocess.Popen([brass, "grammar", "check", "--jsonl", "-", *flags], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, encoding="utf-8")

    def ask(self, schema, instances):
        self.process.stdin.write(json.dumps({"schema": schema, "instances": instances}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"brass ended with {self.process.wait()} at {json.dumps(schema)[:400]}")
        return json.loads(line)


def spellings(text):
    """The instance in several ways to write the same value."""
    value = json.loads(text)
    return [text, json.dumps(value, indent=2), json.dumps(value, ensure_ascii=False, separators=(",", ":"))]


def cases(suite, draft):
    root = suite / "tests" / draft
    for path in sorted(root.rglob("*.json")):
        name = str(path.relative_to(root))
        for case in json.loads(path.read_text()):
            yield name, case


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--brass", required=True)
    arguments.add_argument("--suite", required=True, type=pathlib.Path)
    arguments.add_argument("--fixture", type=pathlib.Path)
    arguments.add_argument("--verbose", action="store_true", help="prints every refused case")
    flags = arguments.parse_args()
    wrong, right, differs, lines = 0, 0, 0, []
    for draft, name in (("draft2020-12", "2020-12"), ("draft7", "7")):
        by_folder, by_schema = Brass(flags.brass, "--draft", name), Brass(flags.brass)
        annotate = Brass(flags.brass, "--formats", "annotate")
        refused, supported, instances = collections.Counter(), 0, 0
        for file, case in cases(flags.suite, draft):
            texts = [json.dumps(test["data"]) for test in case["tests"]]
            says = isinstance(case["schema"], dict) and "$schema" in case["schema"]
            brass = annotate if file in ANNOTATED else by_schema if says else by_folder
            every = [spellings(text) for text in texts]
            answer = brass.ask(case["schema"], [one for group in every for one in group])
            if "error" in answer:
                refused[(file, answer["error"])] += 1
                if flags.verbose:
                    print(f"refused {draft}/{file}: {case['description']}: {answer['error']}")
                continue
            supported += 1
            verdicts = iter(answer["valid"])
            good = True
            for test, group in zip(case["tests"], every):
                for text in group:
                    instances += 1
                    if next(verdicts) == test["valid"]:
                        right += 1
                        continue
                    good = False
                    if file in DOCUMENTED:
                        differs += 1
                        continue
                    wrong += 1
                    print(f"WRONG {draft}/{file}: {case['description']}: {test['description']}: "
                          f"{text[:200]} is {'valid' if test['valid'] else 'not valid'}")
            if good:
                lines.append({"draft": "" if says else name, "annotate": file in ANNOTATED, "file": f"{draft}/{file}",
                              "schema": case["schema"],
                              "tests": [[text, test["valid"]] for text, test in zip(texts, case["tests"])]})
        print(f"{draft}: {supported} schemas supported ({instances} judgements), {sum(refused.values())} refused")
        summary = collections.Counter()
        for (file, _), count in refused.items():
            summary[file] += count
        for file, count in sorted(summary.items()):
            reasons = sorted({error for f, error in refused if f == file})
            print(f"  {file}: {count}: {'; '.join(reasons)[:300]}")
    print(f"{right} right, {wrong} wrong, {differs} otherwise by documentation ({', '.join(sorted(DOCUMENTED))})")
    if flags.fixture:
        flags.fixture.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
