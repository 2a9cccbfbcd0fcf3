#!/usr/bin/env python3
"""Lets real models write under random schemas, choices, regular expressions and grammars, and judges every reply.

    pip install jsonschema lark
    structured_output.py MODEL.gguf [MODEL.gguf ...] --brass build/release/brass -n 200

Schemas come from a generator with a fixed seed. Every reply is sampled at temperature 1 without other filters. It must be
JSON that the `jsonschema` package finds valid (formats too), one of the choices, a full match of the expression (Python's
re), or a text of the grammar (the `lark` package, as grammar_fixtures.py reads GBNF); or be cut by the limit of tokens.
Schemas that Brass refuses by name are counted, and are not failures. Exits with 1 if any reply is wrong.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import random
import re
import subprocess
import sys
import tempfile

import jsonschema
import lark

from grammar_fixtures import Gbnf

WORDS = "name age city tags items price kind id note score unit active size color owner children".split()


class Schemas:
    """Random schemas, each with a value by construction, and with texts that end soon."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def chance(self, p):
        return self.random.random() < p

    def schema(self):
        self.defs = {}
        root = self.value(0)
        if self.defs:
            root = {**root, "$defs": self.defs} if "$ref" not in root else {"allOf": [root], "$defs": self.defs}
        if self.chance(0.2):
            root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
        return root

    def value(self, depth):
        kinds = ["string", "integer", "number", "boolean", "null", "enum", "const", "union"]
        if depth < 3:
            kinds += ["object"] * 5 + ["array"] * 4 + ["anyOf", "oneOf", "tuple", "map", "ref", "allOf"]
        if depth == 0:
            kinds = ["object"] * 6 + ["array", "anyOf", "map", "tuple", "string", "number", "ref"]
        made = getattr(self, "make_" + self.random.choice(kinds))(depth)
        if self.chance(0.1):
            made = {**made, "description": "some text", "title": "T"}
        return made

    def make_string(self, _depth):
        kind = self.random.randrange(5)
        if kind == 0:
            return {"type": "string", "pattern": self.random.choice(
                ["^[A-Z]{3}-[0-9]{2,4}$", "^(red|green|blue)$", "^[a-z]+@[a-z]+\\.(com|org)$", "^\\d{3}-\\d{4}$",
                 "^[^x]{2,8}$", "^(\\([0-9]{3}\\))?[0-9]{3}$"])}
        if kind == 1:
            return {"type": "string", "format": self.random.choice(["date", "uuid", "ipv4", "time", "date-time", "email"])}
        low = self.random.randrange(4)
        return {"type": "string", "minLength": low, "maxLength": low + self.random.randrange(1, 12)}

    def make_integer(self, _depth):
        low = self.random.randrange(-50, 50)
        made = {"type": "integer"}
        if self.chance(0.8):
            made["minimum" if self.chance(0.7) else "exclusiveMinimum"] = low
        if self.chance(0.8):
            made["maximum" if self.chance(0.7) else "exclusiveMaximum"] = low + self.random.randrange(3, 1000)
        return made

    def make_number(self, _depth):
        low = self.random.choice([-1.5, 0, 0.25, 10, -100])
        return {"type": "number", "minimum": low, "maximum": low + self.random.choice([0.5, 1, 99.75, 1e4])}

    def make_boolean(self, _depth):
        return {"type": "boolean"}

    def make_null(self, _depth):
        return {"type": "null"}

    def make_enum(self, _depth):
        values = ["a", "b c", "é\"q", 1, -2.5, True, None, [], {"k": [1]}, ""]
        return {"enum": self.random.sample(values, self.random.randrange(1, 5))}

    def make_const(self, _depth):
        return {"const": self.random.choice(["fixed", 42, None, ["x", 1], {"a": "b"}])}

    def make_union(self, _depth):
        return {"type": self.random.sample(["integer", "boolean", "null"], 2)}

    def make_object(self, depth):
        names = self.random.sample(WORDS, self.random.randrange(1, 5))
        made = {"type": "object", "properties": {name: self.value(depth + 1) for name in names}}
        if self.chance(0.9):
            made["required"] = [name for name in names if self.chance(0.7)]
        extra = self.random.randrange(4)
        if extra <= 1:
            made["additionalProperties"] = False
        elif extra == 2:
            made["additionalProperties"] = {"type": "integer", "minimum": 0, "maximum": 9}
            made["maxProperties"] = len(names) + self.random.randrange(3)
        return made

    def make_map(self, depth):
        low = self.random.randrange(3)
        return {"type": "object", "patternProperties": {"^[a-z]{1,6}$": self.value(depth + 2)},
                "additionalProperties": False, "minProperties": low, "maxProperties": low + 2}

    def make_array(self, depth):
        low = self.random.randrange(3)
        return {"type": "array", "items": self.value(depth + 1), "minItems": low,
                "maxItems": low + self.random.randrange(3)}

    def make_tuple(self, depth):
        parts = [self.value(depth + 1) for _ in range(self.random.randrange(1, 4))]
        return {"type": "array", "prefixItems": parts, "items": False, "minItems": len(parts)}

    def make_anyOf(self, depth):
        return {"anyOf": [self.value(depth + 1) for _ in range(self.random.randrange(2, 4))]}

    def make_oneOf(self, depth):
        return {"oneOf": [{"type": "integer", "minimum": 0, "maximum": 99}, {"type": "string", "maxLength": 6},
                          {"type": "array", "items": self.value(depth + 2), "maxItems": 2}]}

    def make_allOf(self, depth):
        low = self.random.randrange(10)
        return {"allOf": [{"type": "integer", "minimum": low}, {"maximum": low + self.random.randrange(100)}]}

    def make_ref(self, depth):
        if "tree" not in self.defs:
            self.defs["tree"] = {}
            self.defs["tree"] = {"type": "object", "properties": {
                "value": self.value(depth + 2),
                "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}, "maxItems": 2}},
                "required": ["value"], "additionalProperties": False}
        return {"$ref": "#/$defs/tree"}


CHOICES = [["yes", "no"], ["positive", "negative", "neutral"], ["a", "ab", "abc", "b, c"], ["Paris", "Par", "Päris", "漢字"],
           [str(i) for i in range(200)]]
REGEXES = ["[A-Z][a-z]{2,9}( [A-Z][a-z]{1,9}){0,2}", "[0-9]{4}-[01][0-9]-[0-3][0-9]", "(yes|no)(, (because|but) [a-z ]{5,40}\\.)?",
           "#[0-9a-f]{6}", "[^\\n]{10,60}\\n", "(\\+|-)?[0-9]{1,3}(\\.[0-9]+)?%?", "[ぁ-ゟ]{2,8}。", "a{3}b*c"]
GRAMMARS = [
    'root ::= move (" " move){2,6}\nmove ::= ([NBKQR] | [a-h] "x")? [a-h] [1-8] [+#]? | "O-O" "-O"?\n',
    'root ::= sum "\\n"\nsum ::= sum [-+] product | product\nproduct ::= product "*" atom | atom\n'
    'atom ::= [0-9]{1,3} | "(" sum ")"\n',
    'root ::= ("- " [A-Za-z ]{3,20} "\\n"){2,4}',
    'root ::= "{" pair ("," pair){0,3} "}"\npair ::= "\\"" [a-z]{1,8} "\\":" value\n'
    'value ::= [0-9]{1,4} | "[" (value ("," value){0,2})? "]" | "true" | "null"\n',
    'root ::= "SELECT " name (", " name)* " FROM " name (" WHERE " name op num)? ";"\nname ::= [a-z] [a-z0-9_]{0,9}\n'
    'op ::= " " ("=" | "<" "="? | ">") " "\nnum ::= [0-9]+\n',
]


class Task:
    def __init__(self, kind, prompt, flags, judge, what):
        self.kind, self.prompt, self.flags, self.judge, self.what = kind, prompt, flags, judge, what


def schema_task(schema, folder, index):
    path = os.path.join(folder, f"schema{index}.json")
    with open(path, "w", encoding="utf-8") as out:
        json.dump(schema, out)
    validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())

    def judge(text):
        try:
            value = json.loads(text)
        except ValueError as error:
            return f"no JSON: {error}"
        errors = [e.message for e in validator.iter_errors(value)]
        return errors[0] if errors else None

    return Task("schema", f"Give me an example as JSON for this schema: {json.dumps(schema)}", ["--json-schema", path],
                judge, json.dumps(schema))


def choice_task(choices):
    flag = ",".join(c.replace("\\", "\\\\").replace(",", "\\,") for c in choices)
    return Task("choices", "Choose one.", ["--choices", flag], lambda t: None if t in choices else "no choice", flag)


def regex_task(pattern):
    return Task("regex", "Write something short.", ["--regex", pattern],
                lambda t: None if re.fullmatch(pattern, t) else "no match", pattern)


def grammar_task(source, folder, index):
    path = os.path.join(folder, f"grammar{index}.gbnf")
    with open(path, "w", encoding="utf-8") as out:
        out.write(source)
    parser = lark.Lark(Gbnf(source).to_lark(), parser="earley", lexer="dynamic_complete", ambiguity="resolve")

    def judge(text):
        try:
            parser.parse(text)
        except lark.exceptions.LarkError as error:
            return str(error).splitlines()[0]
        return None

    return Task("gbnf", "Write something short.", ["--grammar", path], judge, source)


def run(brass, model, task, seed, limit, extra):
    command = [brass, "run", model, task.prompt, "--json", "--temperature", "1", "--top-k", "0", "--top-p", "1", "--min-p", "0",
               "--seed", str(seed), "-n", str(limit), *extra, *task.flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode != 0:
        refused = task.kind == "schema" and done.returncode == 2
        return "refused" if refused else "failed", done.stderr.strip()
    reply = json.loads(done.stdout)
    if reply["finish"] == "length":
        return "length", reply["text"]
    fault = task.judge(reply["text"])
    return ("valid", "") if fault is None else ("WRONG", f"{fault}: {reply['text']!r}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("models", nargs="+")
    arguments.add_argument("--brass", required=True)
    arguments.add_argument("-n", type=int, default=200, help="schemas")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--limit", type=int, default=300, help="tokens of a reply")
    arguments.add_argument("--jobs", type=int, default=1, help="models that run at once")
    arguments.add_argument("--only", choices=["schema", "choices", "regex", "gbnf"])
    arguments.add_argument("--verbose", action="store_true", help="name what was refused or cut, too")
    options = arguments.parse_args()
    schemas = Schemas(options.seed)
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        tasks = [schema_task(schemas.schema(), folder, i) for i in range(options.n)]
        tasks += [choice_task(c) for c in CHOICES for _ in range(2)] + [regex_task(r) for r in REGEXES for _ in range(2)]
        tasks += [grammar_task(g, folder, 2 * i + k) for i, g in enumerate(GRAMMARS) for k in range(2)]
        tasks = [t for t in tasks if options.only in (None, t.kind)]
        for model in options.models:
            counts = collections.defaultdict(collections.Counter)
            reasons = collections.Counter()
            extra = ["--threads", "1"] if options.jobs > 1 else []
            with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
                answers = pool.map(lambda i: run(options.brass, model, tasks[i], i + 1, options.limit, extra), range(len(tasks)))
                for task, (verdict, detail) in zip(tasks, answers):
                    counts[task.kind][verdict] += 1
                    if verdict == "refused":
                        reasons[detail.splitlines()[0].split(": ", 3)[-1]] += 1
                    if verdict in ("WRONG", "failed") or options.verbose and verdict != "valid":
                        print(f"{verdict}: {task.kind} {task.what}\n  {detail}", flush=True)
                    bad += verdict in ("WRONG", "failed")
            for kind, count in counts.items():
                print(f"{os.path.basename(model)}: {kind}: " + ", ".join(f"{n} {v}" for v, n in sorted(count.items())), flush=True)
            for reason, n in reasons.most_common():
                print(f"  refused {n} ×: {reason}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
