#!/usr/bin/env python3
"""Compares `brass grammar check` with PyPI's jsonschema on random schemas and instances.

    pip install jsonschema hypothesis hypothesis-jsonschema
    tools/oracles/schema_fuzz.py --brass build/release/brass --schemas 2000 --seed 1

Schemas combine types, unions, enumerations, bounds, patterns, nested arrays and objects, references, allOf, anyOf, oneOf,
not, if, dependent… and unevaluated…. Instances are random values made of what the schema mentions, valid ones found by
chance or by hypothesis-jsonschema (--hypothesis), and mutations of those; each is written in a random way. A misjudged pair
is printed and makes the exit code 1.
"""

import argparse
import collections
import json
import random
import sys

import jsonschema

from schema_suite import Brass

KEYS = ["a", "b", "c", "ab", "é", "x-1", ""]
STRINGS = ["", "a", "b", "ab", "abc", "aab", "A", "1", "12", "é", "日本", "\U0001F600", "x\"y", "a\\b", "\t", "/", "zzzz"]
NUMBERS = [0, 1, 2, 3, 5, 6, 7, 10, 12, 15, 20, 100, -1, -3, -10, 0.5, 1.5, 2.25, -0.75, 1e3, 12.5, 99.75, 1.0, 2.0]
PATTERNS = ["^a", "b$", "^[a-c]+$", "a|b", "^.{1,3}$", "[0-9]", "^(ab?)*$", "^[^a]*$", "a.c"]


class Schemas:
    def __init__(self, rng):
        self.rng = rng
        self.defs = {}

    def some(self, options, low=1, high=3):
        return self.rng.sample(options, min(len(options), self.rng.randint(low, high)))

    def value(self, depth=2):
        rng = self.rng
        kind = rng.randrange(8 if depth > 0 else 6)
        if kind == 0:
            return None
        if kind == 1:
            return rng.random() < 0.5
        if kind in (2, 3):
            return rng.choice(NUMBERS)
        if kind in (4, 5):
            return rng.choice(STRINGS)
        if kind == 6:
            return [self.value(depth - 1) for _ in range(rng.randrange(4))]
        return {key: self.value(depth - 1) for key in self.some(KEYS, 0, 3)}

    def root(self):
        names = self.some(["d1", "d2"], 0, 2)
        self.names = names
        schema = self.schema(3)
        if names:
            if not isinstance(schema, dict):
                schema = {"allOf": [schema]}
            schema["$defs"] = {name: self.schema(2) for name in names}
        return schema

    def schema(self, depth):
        rng = self.rng
        if depth <= 0:
            return rng.choice([True, {}, {"type": "string"}, {"type": "integer"}, {"type": "null"}, {"const": self.value(0)},
                               {"enum": [self.value(0) for _ in range(3)]}, {"type": ["boolean", "number"]}])
        out = {}
        for _ in range(rng.choice([1, 1, 2, 2, 3])):
            out.update(rng.choice([self.types, self.numbers, self.strings, self.arrays, self.objects, self.objects,
                                   self.listed, self.combined, self.combined, self.conditional])(depth))
        if rng.random() < 0.5 and "type" not in out:
            out.update(self.types(depth))
        return out

    def types(self, depth):
        names = ["null", "boolean", "number", "integer", "string", "array", "object"]
        return {"type": self.rng.choice(names) if self.rng.random() < 0.6 else self.some(names, 1, 3)}

    def numbers(self, depth):
        rng, out = self.rng, {}
        for key in self.some(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"], 1, 2):
            out[key] = rng.choice([1, 2, 3, 7, 0.5, 0.25, 10, 12]) if key == "multipleOf" else rng.choice(NUMBERS)
        return out

    def strings(self, depth):
        out = {}
        for key in self.some(["minLength", "maxLength", "pattern"], 1, 2):
            out[key] = self.rng.choice(PATTERNS) if key == "pattern" else self.rng.randrange(4)
        return out

    def arrays(self, depth):
        rng, out = self.rng, {}
        for key in self.some(["items", "prefixItems", "minItems", "maxItems", "contains", "uniqueItems",
                              "unevaluatedItems"], 1, 3):
            if key in ("minItems", "maxItems"):
                out[key] = rng.randrange(4)
            elif key == "prefixItems":
                out[key] = [self.schema(depth - 1) for _ in range(rng.randint(1, 3))]
            elif key == "uniqueItems":
                out[key] = True
                out["items"] = {"enum": [self.value(0) for _ in range(3)]}
            elif key == "unevaluatedItems":
                out[key] = rng.choice([False, self.schema(0)])
            else:
                out[key] = self.schema(depth - 1)
        if "contains" in out and rng.random() < 0.5:
            out[rng.choice(["minContains", "maxContains"])] = rng.randrange(3)
        return out

    def objects(self, depth):
        rng, out = self.rng, {}
        for key in self.some(["properties", "properties", "required", "additionalProperties", "patternProperties",
                              "propertyNames", "minProperties", "maxProperties", "dependentRequired", "dependentSchemas",
                              "unevaluatedProperties"], 1, 4):
            if key == "properties":
                out[key] = {name: self.schema(depth - 1) for name in self.some(KEYS)}
            elif key == "required":
                out[key] = self.some(KEYS)
            elif key == "patternProperties":
                out[key] = {pattern: self.schema(depth - 1) for pattern in self.some(PATTERNS, 1, 2)}
            elif key == "propertyNames":
                out[key] = rng.choice([self.strings(0), {"enum": self.some(KEYS, 1, 4)}])
            elif key in ("minProperties", "maxProperties"):
                out[key] = rng.randrange(4)
            elif key == "dependentRequired":
                out[key] = {name: self.some(KEYS, 1, 2) for name in self.some(KEYS, 1, 2)}
            elif key == "dependentSchemas":
                out[key] = {name: self.schema(depth - 1) for name in self.some(KEYS, 1, 1)}
            else:
                out[key] = rng.choice([False, False, self.schema(depth - 1)])
        return out

    def listed(self, depth):
        if self.rng.random() < 0.4:
            return {"const": self.value()}
        return {"enum": [self.value() for _ in range(self.rng.randint(1, 5))]}

    def combined(self, depth):
        rng = self.rng
        if self.names and rng.random() < 0.25:
            return {"$ref": "#/$defs/" + rng.choice(self.names)}
        key = rng.choice(["allOf", "anyOf", "anyOf", "oneOf", "not"])
        if key == "not":
            return {"not": self.schema(depth - 1)}
        return {key: [self.schema(depth - 1) for _ in range(rng.randint(1, 3))]}

    def conditional(self, depth):
        out = {"if": self.schema(depth - 1)}
        for key in self.some(["then", "else"], 1, 2):
            out[key] = self.schema(depth - 1)
        return out


class Instances:
    """Values made of what a schema mentions."""

    def __init__(self, rng, schema):
        self.rng = rng
        self.values, self.keys, self.numbers, self.strings = [], list(KEYS), list(NUMBERS), list(STRINGS)
        self.collect(schema)

    def collect(self, schema):
        if isinstance(schema, list):
            for one in schema:
                self.collect(one)
        if not isinstance(schema, dict):
            return
        for key, value in schema.items():
            if key == "const":
                self.values.append(value)
            elif key == "enum":
                self.values.extend(value)
            elif isinstance(value, (int, float)) and not isinstance(value, bool):
                self.numbers += [value, value + 1, value - 1, value + 0.5, value * 2]
            self.collect(value)

    def value(self, depth=3):
        rng = self.rng
        if self.values and rng.random() < 0.3:
            return rng.choice(self.values)
        kind = rng.randrange(12 if depth > 0 else 6)
        if kind == 0:
            return rng.choice([None, True, False])
        if kind <= 2:
            return rng.choice(self.numbers)
        if kind <= 5:
            return rng.choice(self.strings)
        if kind <= 8:
            return [self.value(depth - 1) for _ in range(rng.randrange(5))]
        return {key: self.value(depth - 1) for key in rng.sample(self.keys, rng.randrange(5))}

    def mutated(self, value):
        rng = self.rng
        if isinstance(value, list) and value and rng.random() < 0.7:
            out = list(value)
            at = rng.randrange(len(out))
            action = rng.randrange(4)
            if action == 0:
                del out[at]
            elif action == 1:
                out.insert(at, self.value(1))
            elif action == 2:
                out.append(out[at])
            else:
                out[at] = self.mutated(out[at])
            return out
        if isinstance(value, dict) and value and rng.random() < 0.7:
            out = dict(value)
            key = rng.choice(list(out))
            action = rng.randrange(3)
            if action == 0:
                del out[key]
            elif action == 1:
                out[rng.choice(self.keys)] = self.value(1)
            else:
                out[key] = self.mutated(out[key])
            return out
        if isinstance(value, str) and rng.random() < 0.5:
            return rng.choice([value + rng.choice("ab1é"), value[1:], value.upper()])
        if isinstance(value, (int, float)) and not isinstance(value, bool) and rng.random() < 0.5:
            return rng.choice([value + 1, value - 0.5, -value, value * 10])
        return self.value(1)


def written(rng, value):
    """A text of the value: order, spaces, escapes and the spelling of numbers are free."""
    def shuffled(one):
        if isinstance(one, dict):
            keys = list(one)
            rng.shuffle(keys)
            return {key: shuffled(one[key]) for key in keys}
        return [shuffled(item) for item in one] if isinstance(one, list) else one

    text = json.dumps(shuffled(value), indent=rng.choice([None, None, 2, "\t"]), ensure_ascii=rng.random() < 0.5,
                      separators=rng.choice([None, (",", ":"), (" , ", " : ")]))
    return text if rng.random() < 0.8 else "\n " + text + " \r\n"


def valid_examples(schema, count, seed):
    import hypothesis
    from hypothesis_jsonschema import from_schema
    out = []

    @hypothesis.settings(max_examples=count, database=None, deadline=None, derandomize=False,
                         phases=[hypothesis.Phase.generate], suppress_health_check=list(hypothesis.HealthCheck))
    @hypothesis.seed(seed)
    @hypothesis.given(from_schema(schema))
    def collect(value):
        out.append(value)

    try:
        collect()
    except Exception:  # schemas that it cannot read, or that nothing satisfies
        pass
    return out


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--brass", required=True)
    arguments.add_argument("--schemas", type=int, default=1000)
    arguments.add_argument("--instances", type=int, default=30)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--hypothesis", type=int, default=0, help="every n-th schema, too, by hypothesis-jsonschema")
    arguments.add_argument("--fixture", help="file that gets every schema with its verdicts, as schema_suite.py writes them")
    flags = arguments.parse_args()
    brass, refused = Brass(flags.brass), collections.Counter()
    lines, pairs, valid, wrong, taken = [], 0, 0, 0, 0
    for number in range(flags.schemas):
        rng = random.Random(f"{flags.seed} {number}")
        schema = Schemas(rng).root()
        maker = Instances(rng, schema)
        validator = jsonschema.Draft202012Validator(schema)
        values = [maker.value() for _ in range(flags.instances)]
        if flags.hypothesis and number % flags.hypothesis == 0:
            values += valid_examples(schema, 20, number)
        try:
            good = [value for value in values if validator.is_valid(value)]
            values += [maker.mutated(rng.choice(good or values)) for _ in range(flags.instances)]
            expected = [validator.is_valid(value) for value in values]
        except RecursionError:
            continue
        texts = [written(rng, value) for value in values]
        answer = brass.ask(schema, texts)
        if "error" in answer:
            refused[answer["error"].split("keyword", 1)[-1][:110]] += 1
            continue
        taken += 1
        for text, right, got in zip(texts, expected, answer["valid"]):
            pairs, valid = pairs + 1, valid + right
            if right != got:
                wrong += 1
                if wrong <= 20:
                    print(f"WRONG (schema {number}): {json.dumps(schema)}\n  {text!r} is {'valid' if right else 'not valid'}")
        if flags.fixture:
            lines.append({"draft": "", "annotate": False, "file": f"fuzz {flags.seed} {number}", "schema": schema,
                          "tests": [[text, right] for text, right in zip(texts, expected)][:12]})
    print(f"{taken} schemas, {pairs} pairs ({valid} valid), {wrong} misjudged; {sum(refused.values())} refused:")
    for reason, count in refused.most_common(25):
        print(f"  {count}: {reason}")
    if flags.fixture:
        with open(flags.fixture, "w") as out:
            out.writelines(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
