#!/usr/bin/env python3
"""Lets real models write under random schemas, tools, choices, regular expressions and grammars, and judges every reply.

    pip install jsonschema lark
    structured_output.py MODEL.gguf [MODEL.gguf ...] --driver build/release/structured_driver -n 200

Schemas come from a generator with a fixed seed. Every reply is sampled at temperature 1 without other filters. It must be
JSON that the `jsonschema` package finds valid (formats too), a call whose arguments it finds valid, one of the choices, a
full match of the expression (Python's re), or a text of the grammar (the `lark` package, as grammar_fixtures.py reads
GBNF); or be cut by the limit of tokens. Schemas that Brass refuses by name are counted, and are not failures. One process
a model answers all, several at once. --first and --count take a slice of the tasks, --seconds ends a run early, and says how
many tasks it did not get to. Exits with 1 if any reply is wrong.
"""

import argparse
import collections
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time

import jsonschema

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
    def __init__(self, kind, prompt, what, judge):
        self.kind, self.prompt, self.what, self.judge = kind, prompt, what, judge


def validator_of(schema):
    return jsonschema.Draft202012Validator(schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)


def schema_task(schema, told):
    validator = validator_of(schema)

    def judge(reply):
        try:
            value = json.loads(reply["text"])
        except ValueError as error:
            return f"no JSON: {error}"
        errors = [e.message for e in validator.iter_errors(value)]
        return errors[0] if errors else None

    prompt = f"Give me an example as JSON for this schema: {json.dumps(schema)}" if told else "Give me an example as JSON."
    return Task("schema", prompt, {"json_schema": schema}, judge)


def tool_task(parameters):
    validator = validator_of(parameters)
    tool = {"type": "function", "function": {"name": "example", "description": "Takes an example.", "parameters": parameters}}

    def judge(reply):
        if [call["name"] for call in reply["calls"]] != ["example"]:
            return f"calls {reply['calls']}"
        value = json.loads(reply["calls"][0]["arguments"])
        errors = [e.message for e in validator.iter_errors(value)]
        return errors[0] if errors else None

    return Task("tools", "Give the tool an example.", {"tools": [tool]}, judge)


def choice_task(choices):
    return Task("choices", "Choose one.", {"choices": choices}, lambda r: None if r["text"] in choices else "no choice")


def regex_task(pattern):
    return Task("regex", "Write something short.", {"regex": pattern},
                lambda r: None if re.fullmatch(pattern, r["text"]) else "no match")


def grammar_task(source):
    def judge(reply):
        import lark  # here, for it takes minutes to read counted repetitions: --only gbnf is a run of its own
        from grammar_fixtures import Gbnf
        parser = lark.Lark(Gbnf(source).to_lark(), parser="earley", lexer="dynamic_complete", ambiguity="resolve")
        try:
            parser.parse(reply["text"])
        except lark.exceptions.LarkError as error:
            return str(error).splitlines()[0]
        return None

    return Task("gbnf", "Write something short.", {"gbnf": source}, judge)


def make_tasks(options):
    schemas = Schemas(options.seed)
    tasks = [schema_task(schemas.schema(), options.tell) for _ in range(options.n)]
    for _ in range(options.n // 4):
        schemas.defs = {}
        parameters = schemas.make_object(0)
        tasks.append(tool_task({**parameters, "$defs": schemas.defs} if schemas.defs else parameters))
    tasks += [choice_task(c) for c in CHOICES for _ in range(2)] + [regex_task(r) for r in REGEXES for _ in range(2)]
    tasks += [grammar_task(g) for g in GRAMMARS for _ in range(2)]
    tasks = [t for t in tasks if t.kind == options.only or (options.only is None and t.kind != "gbnf")]
    return tasks[options.first:][:options.count]


def answers(options, model, tasks):
    """Yields (index, reply) as replies end."""
    lines = [json.dumps({"id": i, "prompt": t.prompt, "seed": options.first + i + 1, "limit": options.limit, **t.what})
             for i, t in enumerate(tasks)]
    command = [options.driver, model, str(options.sequences), str(options.threads)]
    with tempfile.TemporaryFile("w+") as written:
        written.write("".join(line + "\n" for line in lines))
        written.seek(0)
        driver = subprocess.Popen(command, stdin=written, stdout=subprocess.PIPE, text=True)
        begin = time.monotonic()
        for line in driver.stdout:
            reply = json.loads(line)
            yield reply["id"], reply
            if options.seconds and time.monotonic() - begin > options.seconds:
                driver.kill()
                driver.wait()
                return
        if driver.wait() != 0:
            sys.exit(f"{model}: the driver ended with {driver.returncode}")


def verdict_of(task, reply):
    if "refused" in reply:
        return ("refused" if task.kind in ("schema", "tools") else "failed"), reply["refused"]
    if reply["finish"] == "length":
        return "length", reply["text"]
    fault = task.judge(reply)
    return ("valid", "") if fault is None else ("WRONG", f"{fault}: {reply['text']!r}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("models", nargs="+")
    arguments.add_argument("--driver", required=True)
    arguments.add_argument("-n", type=int, default=200, help="schemas; and a quarter as many tools")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--limit", type=int, default=160, help="tokens of a reply")
    arguments.add_argument("--sequences", type=int, default=8, help="replies at once")
    arguments.add_argument("--threads", type=int, default=0, help="0: all cores")
    arguments.add_argument("--first", type=int, default=0, help="task to begin with")
    arguments.add_argument("--count", type=int, help="most tasks")
    arguments.add_argument("--only", choices=["schema", "tools", "choices", "regex", "gbnf"])
    arguments.add_argument("--seconds", type=float, help="stop behind the first reply after so long")
    arguments.add_argument("--tell", action="store_true", help="the prompt shows the schema: longer, and replies make sense")
    arguments.add_argument("--verbose", action="store_true", help="name what was refused or cut, too")
    options = arguments.parse_args()
    tasks = make_tasks(options)
    bad = 0
    for model in options.models:
        counts = collections.defaultdict(collections.Counter)
        reasons = collections.Counter()
        for index, reply in answers(options, model, tasks):
            task = tasks[index]
            verdict, detail = verdict_of(task, reply)
            counts[task.kind][verdict] += 1
            if verdict == "refused":
                reasons[detail] += 1
            if verdict in ("WRONG", "failed") or options.verbose and verdict != "valid":
                print(f"{verdict}: {task.kind} {json.dumps(task.what)}\n  {detail}", flush=True)
            bad += verdict in ("WRONG", "failed")
        for kind, count in counts.items():
            print(f"{os.path.basename(model)}: {kind}: " + ", ".join(f"{n} {v}" for v, n in sorted(count.items())), flush=True)
        for reason, n in reasons.most_common():
            print(f"  refused {n} ×: {reason}")
        missing = len(tasks) - sum(sum(count.values()) for count in counts.values())
        if missing:
            print(f"{os.path.basename(model)}: {missing} tasks have no reply", flush=True)
            bad += not options.seconds
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
