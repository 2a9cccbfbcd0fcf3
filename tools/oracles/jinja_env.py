"""Jinja2 as `transformers` sets it up for chat templates: the oracle of the template engine.

Needs Jinja2 (PyPI). Facts of the set-up: ImmutableSandboxedEnvironment, trim_blocks, lstrip_blocks, loop controls,
a `generation` block, `tojson` as json.dumps(ensure_ascii=False), raise_exception, strftime_now.
"""

import datetime
import json

import jinja2
import jinja2.ext
import jinja2.sandbox

CLOCK = 1234567890  # 2009-02-13 23:31:30 UTC


class Generation(jinja2.ext.Extension):
    """{% generation %}: renders its body."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def strftime_now(format):
    return datetime.datetime.fromtimestamp(CLOCK, datetime.timezone.utc).replace(tzinfo=None).strftime(format)


def environment(lenient=False):
    """`lenient` allows list.append and its like, as the engine does."""
    kind = jinja2.sandbox.SandboxedEnvironment if lenient else jinja2.sandbox.ImmutableSandboxedEnvironment
    env = kind(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = strftime_now
    env.globals.pop("lipsum", None)
    return env


STRICT, LENIENT = environment(), environment(lenient=True)


def render(template, context):
    """(text, None) or (None, what went wrong)."""
    try:
        return STRICT.from_string(template).render(**context), None
    except jinja2.exceptions.SecurityError:
        pass
    except Exception as error:  # whatever the template provokes
        return None, f"{type(error).__name__}: {error}"
    try:
        return LENIENT.from_string(template).render(**context), None
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"
