"""Random template programs, and the variables that they see: what jinja_fuzz.py compares.

Generator(seed, pool).program() makes one; with `focus` it is of blocks, `self`, autoescape and long integers.
"""

import json
import random
import re

import jinja_env

WORDS = ["a", "B", "hello", "Hello World", "", " x ", "straße", "é", "e\u0301", "ΑΣ", "ß", "ŉ", "İ", "日本語", "🙂", "a,b,,c",
         "line\nline\n", "tab\t", "it's", 'say "hi"', "<b>&", "100%", "1", "42.5", "-7", "0x1f", "  lead", "true", "None",
         "they're here", "x-y_z", "A1b2", "\u00a0nbsp\u2003", "aaa", "abcabc", "ǆ", "Ⅷ", "²", "٣"]
CONTEXT = {
    "s": "Hello, World", "t": "straße ΑΣ é🙂", "e": "", "n": 7, "z": 0, "f": 2.5, "g": -0.125, "big": 12345678901,
    "yes": True, "no": False, "nil": None,
    "l": [3, 1, 2], "ls": ["b", "A", "c", "a"], "el": [], "nested": [[1, 2], [3, [4, "x"]], []],
    "d": {"b": 1, "a": [1, 2], "C": "x"}, "ed": {}, "mixed": [1, "a", None, 2.5, True, [1], {"k": "v"}],
    "people": [
        {"name": "Ann", "age": 31, "tags": ["x", "y"], "home": {"city": "Rome"}},
        {"name": "bob", "age": 7, "tags": [], "home": {"city": "Oslo"}},
        {"name": "Cy", "age": 31, "tags": ["y"], "home": {"city": "rome"}},
        {"name": "dee", "age": None},
    ],
    "messages": [
        {"role": "user", "content": "Hi <there>"},
        {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1.0, "y": "ü\"\n"}}}]},
        {"role": "tool", "content": "42"},
    ],
    "reals": [0.1, 1e22, 1e-5, 123456789.125, -0.0, 1e16, 2.675],
    "ints": [0, -1, 255, 10**15],
    "tree": [{"v": 1, "kids": [{"v": 2, "kids": [{"v": 3, "kids": []}]}, {"v": 4, "kids": []}]}, {"v": 5, "kids": []}],
    "prose": "The quick brown fox, see http://example.com/a?b=c&d=1. Or www.python.org, (mailto:a@b.org) a@b.com!\n\nNext-line  here",
    "parts": [{"type": "text", "text": "Hi "}, {"type": "image"}, {"type": "text", "text": "there"}],
    "odd": {"items": 1, "a b": 2, "": 3, "é": [None], "keys": {"get": True}},
}
NAMES = list(CONTEXT) + ["missing", "other"]
# Integers beyond 64 and 128 bits: carried, printed and compared, but not computed with.
CONTEXT |= {"long": 123456789012345678901234567890, "longer": {"id": -(10**45) - 7, "ids": [2**64, -(2**63) - 1, 2**127]}}
LONG = ["long", "longer", "longer.id", "longer.ids", "longer.ids[0]", "longer.ids[2]", "[long, longer.id]"]
LISTS = ["l", "ls", "el", "nested", "mixed", "people", "messages", "range(4)", "range(5, 0, -2)", "'abc'", "d", "d.items()", "missing", "t",
         "reals", "ints", "parts", "tree", "odd", "s.split(', ')", "people|map(attribute='name')", "(1, 2)", "'a b'.split()"]
ATTRIBUTES = ["name", "age", "tags", "home", "home.city", "role", "content", "tags.0", "nothing", "0", "1"]


def renders(expr, variables):
    """Whether an expression renders by itself."""
    return jinja_env.render("{{ " + expr + " }}", json.loads(json.dumps(variables)))[1] is None


class Generator:
    def __init__(self, seed, pool):
        self.r = random.Random(seed)
        self.locals = []
        self.macros = []
        self.blocks = 0
        self.focus = False  # mostly blocks, `self`, autoescape and long integers
        self.small = True  # a few statements, expressions that mostly come from the pool
        self.pool = []
        while len(self.pool) < pool:
            expr = self.expr()
            if renders(expr, CONTEXT):
                self.pool.append(expr)

    def pick(self, *options):
        return self.r.choice(options)

    def string(self):
        word = self.r.choice(WORDS)
        if self.r.random() < 0.1:
            return self.pick(r"'\n'", r"'\u00e9\x41\101'", r"'a\'b'", r'"\t\\"', r"'\q'", "'\\\n'")
        quote = self.pick("'", '"')
        escaped = word.replace("\\", "\\\\").replace(quote, "\\" + quote)
        if self.r.random() < 0.5:
            escaped = escaped.replace("\n", "\\n").replace("\t", "\\t")
        return quote + escaped + quote

    def number(self):
        return self.pick("0", "1", "2", "3", "7", "-1", "10", "2.5", "0.1", "1e3", "1e-7", "1.5e20", "1_000", "0b101", "0o17", "3.0", "-2.5", "100", "1e16", "0.5", "1.25", "-0.0", "1e22", "123456.789", "0x1F", "12345678901234567890", "1e-5", "99999.5", "3.14159", "1E2", "00")

    def atom(self):
        k = self.r.random()
        if k < 0.35:
            return self.r.choice(NAMES + self.locals * 3)
        if k < 0.6:
            return self.string()
        if k < 0.8:
            return self.number()
        if k < 0.9:
            return self.pick("true", "false", "none", "True", "None", "[]", "{}", "()", "loop.index", "loop.last", "ns.x", "range(3)", "dict(a=1)")
        return self.pick("l[0]", "l[-1]", "d.a", "d['b']", "d.b", "people[0].name", "people[1]['home'].city", "messages[0].content",
                         "messages[1].tool_calls[0].function", "s[1:4]", "t[::-1]", "l[1:]", "l[::2]", "t[2]", "d.items", "nested[1][1][0]",
                         "mixed[9]", "missing.x", "missing['x']", "d.nothing", "d.nothing.x", "(1,)", "(1, 'a')", "t[-3:]", "ls[5:]", "l[-2:10]", "l[10:0:-1]",
                         "reals[0]", "reals[3]", "ints[3]", "tree[0].kids", "parts[0].text", "odd.keys", "odd['']", "odd['a b']", "odd.items", "prose", "parts", "odd", "d.get('a')", "people|first", "'%' ~ n", "s|upper", "s.split(',')[0]",
                         "messages[-1].content", "messages|length", "l|last", "(l|sort)[0]", "ls|join", "true and n", "nil or s", "{1: 2}[1]", "[[1]][0][0]", "'abc'[1]", "not missing")

    def args(self, *choices):
        return "(" + self.r.choice(choices) + ")"

    def expr(self, depth=0):
        if depth > 3 or self.r.random() < 0.25:
            return self.atom()
        if self.r.random() < (0.25 if self.focus else 0.01):
            return self.pick(self.reference, self.markup, self.long_integer)()
        e = lambda: self.expr(depth + 1)
        k = self.r.randrange(22)
        if k == 0:
            return f"{e()} {self.pick('+', '-', '*', '/', '//', '%', '~', '~', '+')} {e()}"
        if k == 1:
            return f"({e()} {self.pick('+', '-', '*', '-', '~')} {e()})" if self.r.random() < 0.8 else f"({self.pick('2', '-3', '10', '0.5', '1e3', '-2.5', '7', '0')} ** {self.pick('2', '3', '-1', '4')})"
        if k == 2:
            return f"{e()} {self.pick('==', '!=', '<', '>', '<=', '>=', 'in', 'not in')} {e()}"
        if k == 3:
            return f"{e()} {self.pick('and', 'or')} {e()}"
        if k == 4:
            return f"{self.pick('not ', '-', '+')}{e()}"
        if k == 5:
            return f"({e()} if {e()}" + (f" else {e()})" if self.r.random() < 0.8 else ")")
        if k == 6:
            return "[" + ", ".join(e() for _ in range(self.r.randrange(4))) + "]"
        if k == 7:
            return "{" + ", ".join(f"{self.string()}: {e()}" for _ in range(self.r.randrange(3))) + "}"
        if k == 8:
            return f"({e()}, {e()})"
        if k == 9:
            return f"{self.pick(self.r.choice(NAMES + self.locals), self.string())}[{self.pick(self.number(), self.string(), e(), '1:', ':-1', '::2', '::-1', '-2:', e() + ':' + e())}]"
        if k == 10:
            return f"({e()}).{self.pick('name', 'x', 'role', 'items', 'real_thing', 'keys')}"
        if k == 11:
            return self.method(e())
        if k in (12, 13):
            return self.string_filter(e())
        if k in (14, 15):
            return self.list_filter()
        if k == 16:
            return f"{e()} is {self.pick('', '', 'not ')}{self.test(e)}"
        if k == 17:
            return f"({e()})|{self.pick('int', 'float', 'abs', 'round', 'round(1)', 'round(2)', 'round(-1)', 'int(9)', 'float(1.5)', 'round(1, %s)' % self.pick(repr('ceil'), repr('floor')), 'string', 'length', 'default(1)', 'd(2, true)', 'filesizeformat')}"
        if k == 18:
            return self.formatting(e)
        if k == 19 and self.macros:
            name = self.r.choice(self.macros)
            return f"{name}({self.pick('', e(), e() + ', ' + e(), 'b=' + e(), e() + ', zz=' + e(), 'a=' + e())})"
        if k == 20:
            return f"({e()})|tojson{self.pick('', '', '(indent=2)', '(sort_keys=true)', '(ensure_ascii=true)', '(separators=(%r, %r))' % (',', ':'))}"
        return f"{self.atom()} {self.pick('<', '==', '>=')} {self.atom()} {self.pick('<', '!=', '<=')} {self.atom()}"

    def reference(self):
        block = f"b{self.r.randrange(1, self.blocks + 3)}"
        return self.pick(f"self.{block}()", f"self.{block}()", f"self.{block}()|upper", f"self.{block}() ~ '<'", f"self['{block}']()", "self", f"self.{block}.name", f"self.{block} is defined",
                         f"self.{block} is callable", "self.nothing", "super", "super()", f"self.{block}.super", f"self.{block}(1)", f"[self.{block}()]", "self is iterable", "self is mapping", "self|string", f"self.{block}() is escaped")

    def markup(self):
        s = self.string
        part = lambda: self.pick(s(), s() + "|safe", s() + "|e", "s", "messages[0].content", "prose", "n", "nil", "l", "missing", *self.locals)
        return self.pick(f"{part()} ~ {part()}", f"{part()} ~ {part()} ~ {part()}", f"({part()}) + ({part()})", f"({part()})|replace({part()}, {part()})", f"[{part()}, {part()}]|join({part()})", f"[{part()}, {part()}]|join", f"ls|join({part()})",
                         f"({part()})|e", f"({part()})|safe", f"({part()})|forceescape", f"({part()}) is escaped", f"{{'a': {part()}, 'b': 1}}|xmlattr", "prose|urlize", f"({part()})|tojson", f"({part()})|upper", f"({part()})|indent", f"'%s<' % {part()}",
                         f"({part()})|format({part()})", f"[{part()}]", f"({part()})|map('replace', '<', {part()})|list", f"people|map(attribute='name')|join({part()})", f"({part()}) if yes else {part()}", f"({part()})|striptags", f"({part()})|trim", f"({part()})[0]")

    def long_integer(self):
        v = self.r.choice(LONG)
        return self.pick(v, f"{v}|tojson", f"{v}|string", f"[{v}]", f"{{'a': {v}}}|tojson(indent=1)", f"{v} == {self.r.choice(LONG)}", f"{v} is number", f"{v} is integer", f"{v} is float", f"{v} is string", f"{v} ~ ''", f"'%s' % ({v},)", f"longer.id < {self.number()}",
                         f"long > {self.number()}", f"{v}|pprint", f"{v} in [1, {v}]", f"not {v}", f"'{{}}'.format({v})", "longer.ids|sort", "longer.ids|max", "longer|items|list", f"{v}|default(1)", "long|int", "longer.id|int", "longer.id != 1.5", "(longer.ids + [longer.id])|min", f"{v} is iterable", f"{v}|length")

    def method(self, subject):
        s = self.string
        n = lambda: self.pick("0", "1", "2", "5", "-1", "-3", "12")
        return f"({subject})." + self.pick(
            "upper()", "lower()", "strip()", "lstrip()", "rstrip()", f"strip({s()})", f"lstrip({s()})", f"rstrip({s()})", "title()", "capitalize()", "swapcase()", "casefold()",
            "split()", f"split({s()})", f"split({s()}, {n()})", f"rsplit({s()}, {n()})", f"split(none, {n()})", "rsplit(none, 1)", "splitlines()", "splitlines(true)",
            f"replace({s()}, {s()})", f"replace({s()}, {s()}, {n()})", f"startswith({s()})", f"endswith({s()})", f"startswith(({s()}, {s()}))",
            f"find({s()})", f"rfind({s()})", f"find({s()}, {n()})", f"find({s()}, {n()}, {n()})", f"count({s()})", f"index({s()})", f"count({s()}, {n()}, {n()})",
            f"join({self.r.choice(LISTS)})", f"join([{s()}, {s()}])", "isdigit()", "isalpha()", "isalnum()", "isspace()", "isupper()", "islower()", "istitle()", "isnumeric()", "isdecimal()",
            "isidentifier()", "isprintable()", "isascii()", f"center({n()})", f"ljust({n()}, '*')", f"rjust({n()})", f"zfill({n()})", f"partition({s()})", f"rpartition({s()})",
            f"removeprefix({s()})", f"removesuffix({s()})", "expandtabs(4)", "expandtabs()", f"translate({{97: {self.pick('none', repr('X'), '98')}, 98: 'yy'}})", "format_map(d)", "encode().decode()", f"format({s()}, a={s()})", f"strip(none)", f"rindex({s()})", f"split(sep={s()})", f"split({s()}, maxsplit=1)", f"center({n()}, {s()})",
            "values()|list", "keys()|list", "items()|first", "fromkeys([1, 2], 0)", "isupper", "upper", "bit_length()", "is_integer()", f"endswith(({s()}, {s()}), {n()})", f"startswith({s()}, {n()}, {n()})", "split(',')|map('trim')|join('|')", "splitlines()|length", "index('a', 1)", "count('a', 0, 3)", "pop", "__class__", "_private", "mro", "items()", "keys()", "values()", f"get({s()})", f"get({s()}, {self.atom()})", "count(1)", "index(1)", "copy()", "nothing()", "items()|list",
            "get(1)")

    def string_filter(self, subject):
        s = self.string
        return f"({subject})|" + self.pick(
            "upper", "lower", "title", "capitalize", "trim", f"trim({s()})", f"replace({s()}, {s()})", f"replace({s()}, {s()}, 1)", "length", "count", "list", "first", "last", "reverse",
            "indent", "indent(2)", "indent(2, true)", "indent('> ', true, true)", "indent(width=1, blank=true)", "center(20)", "center", "string", "e", "escape", "safe", "forceescape", "striptags",
            "truncate(5)", "truncate(7, true)", "truncate(5, false, '…')", "truncate(6, true, '', 0)", "truncate(8, leeway=0)", "wordcount", "urlencode", "pprint", "wordwrap(5)", "wordwrap(8, false)", "wordwrap(7, wrapstring='|')", "wordwrap(6, break_on_hyphens=false)", "wordwrap", "urlize", "urlize(10)", "urlize(8, true)", "urlize(target='_blank')", "urlize(rel='a b')", "trim('H!')", "indent(0)", "indent('\\t')", "center(11)", "e|e", "safe|e", "safe|upper", "safe ~ e", "safe|length", "striptags|upper", "replace('l', '<b>'|safe)", "safe|replace('l', '<')", "safe * 2", "safe|trim", "safe|join(',')", "format(1)", "safe|format('<')", "safe|indent", "(safe)[1:]", "safe|string", "urlencode|upper", "tojson|safe", "tojson|tojson", "truncate(length=9, end='')", "title|e", "list|length", "upper|lower|title", "default('x')", "string|length", "xmlattr",
            f"join({s()})", "join", "sort", "unique|list", "reverse|list", "batch(2)|list", "e|upper", "safe|replace('a', '<')", "safe ~ '<'", "safe + '<'", "e + '&'")

    def list_filter(self):
        subject = self.r.choice(LISTS + self.locals)
        a = self.r.choice(ATTRIBUTES)
        s = self.string
        return f"{subject}|" + self.pick(
            "list", "length", "first", "last", "join", f"join({s()})", f"join(', ', attribute={a!r})", "sort", "sort(reverse=true)", "sort(case_sensitive=true)", f"sort(attribute={a!r})", f"sort(attribute='{a},name')", "unique|list", f"unique(attribute={a!r})|list",
            "reverse|list", "min", "max", f"min(attribute={a!r})", f"max(attribute={a!r})", "sum", "sum(start=10)", f"sum(attribute={a!r})", f"map(attribute={a!r})|list", f"map(attribute={a!r}, default='?')|join('/')", "map('upper')|list", "map('string')|join('|')", "map('length')|list", "map('int')|list", "map('default', 3)|list", "map('replace', 'a', 'b')|list",
            "select|list", "reject|list", "select('string')|list", "select('number')|list", "reject('none')|list", "select('odd')|list", "select('in', [1, 'a'])|list", "select('gt', 1)|list", "select('==', 'a')|list", f"selectattr({a!r})|list", f"rejectattr({a!r})|list", f"selectattr({a!r}, 'defined')|list", f"selectattr({a!r}, '==', 31)|list|length", f"selectattr({a!r}, 'equalto', 'Ann')|map(attribute='name')|list",
            f"groupby({a!r})", f"groupby({a!r})|map('first')|list", f"groupby({a!r})|map(attribute='list')|map('length')|list", f"groupby({a!r}, default='-')|length", "batch(2)|list", "batch(3, 'x')|list", "slice(2)|list", "slice(3, 0)|list", "pprint", "urlencode", "select('greaterthan', 1)|list", "select('!=', 1)|list", "select('>', 1)|list", "select('<=', 2)|list", "reject('in', [1, 2])|list", "select('mapping')|map('length')|list", "select('sequence')|list", "select('iterable')|list", "reject('boolean')|list", "select('sameas', none)|list", "select('divisibleby', 2)|list", "map('first')|map('default', 'x', true)|list", "map(attribute='name')|map('lower')|list", "map(attribute='name', default='zz')|sort|join", "map('round')|list", "map('abs')|list", "map('float')|sum", "map('format', 1)|list", "map('indent', 2)|list", "map('join', '-')|list", "sum|round(2)", "sum(attribute='age', start=1)", "sort|first", "sort(attribute='name', reverse=true)|map(attribute='name')|list", "sort(attribute='home.city', case_sensitive=true)|length", "min(case_sensitive=true)", "max(case_sensitive=true)", "unique(case_sensitive=true)|list", "groupby('age')|length", "groupby('name', case_sensitive=true)|map(attribute='grouper')|list", "groupby('type')|map(attribute='list')|list", "list|tojson", "list|reverse|list", "list|last", "list|pprint", "batch(2, 0)|map('join', ',')|list", "slice(2, 'z')|map('list')|list", "rejectattr('age', 'none')|list", "selectattr('name', 'in', ['Ann', 'Cy'])|list|length", "selectattr('text')|map(attribute='text')|join", "rejectattr('type', 'equalto', 'image')|list", "selectattr('home.city', 'defined')|list|length", "dictsort", "dictsort(reverse=true)", "dictsort(by='value')", "dictsort(true)", "items|list", "tojson", "string", "random_thing", "map('nothing')|list", "select('nothing')", "first|upper", "last|default('-')", "list|string|length", "map('tojson')|list", "attr('items')", "map('first')|list", "tojson(indent=1)")

    def test(self, e):
        return self.pick("defined", "undefined", "none", "string", "number", "integer", "float", "boolean", "true", "false", "mapping", "sequence", "iterable", "callable", "odd", "even", "lower", "upper",
                         "divisibleby 3", "divisibleby(2)", "divisibleby z", f"in [1, 'a', none]", f"in({e()})", f"eq {self.atom()}", f"sameas(none)", "sameas true", f"equalto({self.atom()})", "gt 1", "lt(3)", "ne 'a'", "escaped", "filter", "test", "ge 2", "le 2", "greaterthan 1", "lessthan(2)", "sameas false", "in s", "in d", "mapping and true", "string or false", "eq(1)", "defined and 1", "equalto 'a' ", "upper and not false", "nothing", "divisibleby", "none is true")

    def formatting(self, e):
        return self.pick(
            f"'%s' % {self.atom()}", f"'%s-%s' % ({e()}, {e()})", f"'%r|%5s|%-5s|' % ({self.atom()}, {self.string()}, {self.string()})", f"'%d' % {self.atom()}", f"'%05.2f|%e|%g' % ({self.number()}, {self.number()}, {self.number()})",
            f"'%(a)s %(b)s' % {{'a': {e()}, 'b': 1}}", f"'%x %o %X %#x' % (255, 8, 254, 16)", f"'%+d % d %03d' % ({self.pick('1', '-2', 'n')}, 3, {self.pick('4', '-5')})", f"'%s %%' % {self.number()}", f"'%.3s|%c' % ({self.string()}, 'x')",
            f"'{{}}'.format({e()})", f"'{{0}}-{{1}}-{{0}}'.format({e()}, {e()})", f"'{{a}} {{b!r}}'.format(a={e()}, b={self.string()})", f"'{{:>8}}|{{:<8}}|{{:^9}}|{{:*^9}}'.format({self.string()}, {self.string()}, {self.string()}, {self.number()})",
            f"'{{:.2f}} {{:,}} {{:05d}} {{:x}} {{:+}}'.format({self.number()}, {self.pick('1234567', '12', '-1234.5')}, {self.pick('42', '-42')}, 255, {self.number()})", f"'{{:.3}} {{:g}} {{:e}} {{:%}}'.format({self.number()}, {self.number()}, {self.number()}, {self.number()})", f"'{{0.name}} {{0[age]}}'.format(people[0])", f"'{{{{}}}} {{}}'.format(1)",
            f"({self.string()})|format({e()})", f"'%s/%s'|format({e()}, {e()})", f"'{{:_}} {{:#x}} {{:#b}} {{:>+6}}'.format(12345678, 255, 5, {self.number()})",
            f"'{{:{self.spec()}}}'.format({self.pick(self.number(), self.string(), self.atom())})", f"'%{self.percent()}' % {self.pick(self.number(), self.string(), self.atom())}", f"'{{!r:>{self.pick('5', '12')}}}|{{!s}}|{{!a}}'.format({self.string()}, {e()}, {self.string()})", f"'{{:{{}}}}'.format({self.string()}, {self.pick('5', '9')})", f"'{{a[0]}}{{b.name}}'.format(a={self.string()}, b=people[0])", f"'%*d|%.*f' % (5, 3, 2, {self.number()})", f"'%(n)s' % {{'n': {e()}}}", f"'%i %u' % ({self.number()}, {self.number()})", f"'%a' % {self.string()}", f"{self.string()} % {self.pick('()', '(1,)', '{}', '1', self.string())}", f"{self.string()}.format({self.pick('', '1', self.string())})")

    def spec(self):
        """A format specification, mostly one that fits some value."""
        return (self.pick("", "", "<", ">", "^", "=", "*<", "0>", "é^", " =") + self.pick("", "", "+", "-", " ") + self.pick("", "", "#") + self.pick("", "0") + self.pick("", "1", "5", "12")
                + self.pick("", "", ",", "_") + self.pick("", "", ".0", ".1", ".3", ".10") + self.pick("", "", "d", "f", "e", "g", "x", "s", "%", "b", "o", "n", "G", "E", "F", "X", "c"))

    def percent(self):
        return self.pick("", "-", "+", " ", "0", "#", "-0", "+0") + self.pick("", "", "3", "8") + self.pick("", "", ".0", ".2", ".7") + self.pick("d", "s", "r", "f", "e", "g", "x", "X", "o", "i", "G", "E", "c", "%", "a", "F")

    def data(self):
        return self.pick("", "text", " ", "\n", "  \n", "a\n  ", "\n\n", "é ", "{ x }", "<|im_start|>", "\n    ", "%", "# ", "}} ", "\t", "trailing \n")

    def tag(self, inside):
        return "{%" + self.pick("", "", "", "-", "-", "+") + " " + inside + " " + self.pick("", "", "", "-", "-", "+" if self.r.random() < 0.5 else "") + "%}"

    def sane_expr(self):
        """An expression that mostly does not fail by itself, so that programs get past their first lines."""
        if self.small and self.r.random() < 0.6:
            return self.r.choice(self.pool)
        if self.small:
            return self.expr(self.r.choice((1, 2, 3)))
        for _ in range(6):
            expr = self.expr()
            if self.r.random() < 0.03:
                break
            variables = dict(CONTEXT, **{name: self.r.choice([1, "x", "Ab c", [1, 2], None]) for name in self.locals if name not in CONTEXT})
            if renders(expr, variables):
                return expr
        return self.atom() if self.r.random() < 0.8 else expr

    def output(self):
        return "{{" + self.pick("", "", "-", "+" if self.r.random() < 0.1 else "") + " " + self.sane_expr() + " " + self.pick("", "", "-") + "}}"

    def body(self, depth, loop=False):
        return "".join(self.statement(depth + 1, loop) for _ in range(self.r.randrange(1, 4)))

    def scoped(self, names, make):
        before = list(self.locals)
        self.locals += names
        out = make()
        self.locals = before
        return out

    def statement(self, depth=0, loop=False):
        if depth > (2 if self.small else 3):
            return self.data() + self.output()
        k = self.r.randrange(34)
        if self.focus and self.r.random() < 0.5:
            k = self.pick(28, 28, 32, 32, 33, 19, 20, 21, 22, 12, 16)
        t = self.tag
        if k < 6:
            return self.data() + self.output()
        if k < 8:
            return self.data()
        if k < 11:
            out = t("if " + self.sane_expr()) + self.body(depth, loop)
            for _ in range(self.r.randrange(2)):
                out += t("elif " + self.sane_expr()) + self.body(depth, loop)
            if self.r.random() < 0.5:
                out += t("else") + self.body(depth, loop)
            return out + t("endif")
        if k < 15:
            target = self.pick("x", "item", "k, v", "a, b", "m", "x")
            names = target.split(", ")
            source = self.r.choice(LISTS + ["d.items()", "d|dictsort", "people", "ls|sort", "nested", "[[1, 2], [3, 4]]", "d|items", "l|map('string')"])
            if len(names) == 2 and self.r.random() < 0.8:
                source = self.pick("d.items()", "d|dictsort", "[[1, 2], ['a', 'b']]", "d|items", "people|groupby('name')")
            head = f"for {target} in {source}"
            if self.r.random() < 0.2:
                head += " if " + self.scoped(names, self.expr)
            if self.r.random() < 0.08:
                head += " recursive"
            extra = self.pick("", "", "{{ loop.index }}", "{{ loop.index0 }}{{ loop.first }}{{ loop.last }}", "{{ loop.length }}/{{ loop.revindex }}", "{{ loop.cycle('p', 'q') }}", "{{ loop.previtem }}|{{ loop.nextitem }}",
                              "{% if loop.changed(" + names[0] + ") %}c{% endif %}", "{{ loop.depth }}", "{% if not loop.last %}, {% endif %}")
            body = self.scoped(names, lambda: extra + self.body(depth, True))
            if self.r.random() < 0.15:
                body += t("if " + self.scoped(names, self.expr)) + t(self.pick("break", "continue")) + t("endif") + self.scoped(names, lambda: self.body(depth, True))
            tail = t("else") + self.body(depth, loop) if self.r.random() < 0.2 else ""
            return t(head) + body + tail + t("endfor")
        if k < 18:
            name = self.pick("x", "y", "v", "s", "n", "item")
            self.locals.append(name)
            if self.r.random() < 0.2:
                return t("set " + name + self.pick("", "|upper", "|trim", "|length")) + self.body(depth, False) + t("endset")
            if self.r.random() < 0.15:
                return t(f"set {name}, other = {self.pick('1, 2', 'l[:2]', self.expr() + ', ' + self.expr(), 'nested[0]')}")
            return t(f"set {name} = {self.sane_expr()}")
        if k == 18:
            return t(f"set ns = namespace({self.pick('', 'x=0', 'x=' + self.expr(), 'd')})") + t(f"set ns.x = {self.sane_expr()}") + self.body(depth, loop) + "{{ ns.x }}"
        if k == 19:
            name = self.pick("m1", "m2", "m3")
            params = self.pick("", "a", "a, b", "a, b=2", "a=1, b=a", "a, b=[]")
            names = re.findall(r"\b[ab]\b(?=[,=]|$)", params)
            extra = self.pick("", "", "", "{{ varargs }}", "{{ kwargs }}", "{{ caller() if caller else '-' }}", "{{ caller }}")
            out = t(f"macro {name}({params})") + self.scoped(names, lambda: extra + self.body(depth, False)) + t("endmacro")
            self.macros.append(name)
            return out
        if k == 20 and self.macros:
            params = self.pick("", "", "(q)")
            return t(f"call{params} {self.r.choice(self.macros)}({self.pick('', self.expr())})") + self.body(depth, False) + t("endcall")
        if k == 21:
            return t("filter " + self.pick("upper", "trim", "replace('a', 'b')", "indent(2)", "e", "title|trim")) + self.body(depth, False) + t("endfilter")
        if k == 22:
            return t(f"with w = {self.sane_expr()}" + self.pick("", f", y = {self.sane_expr()}", ", w2 = w")) + self.scoped(["w"], lambda: self.body(depth, loop)) + t("endwith")
        if k == 23:
            return "{#" + self.pick("", "-") + " comment " + self.pick("", "-") + "#}" + self.data()
        if k == 24:
            return "{%" + self.pick("", "-") + " raw " + self.pick("", "-") + "%}" + self.pick("{{ x }}", " {% if %}\n", "\n  text ") + "{%" + self.pick("", "-") + " endraw " + self.pick("", "-") + "%}" + self.data()
        if k == 25:
            return t("generation") + self.body(depth, False) + t("endgeneration")
        if k == 26:
            walk = "{{ n.v }}" + self.data() + self.pick("{{ loop(n.kids) }}", "{% if n.kids %}({{ loop(n.kids) }}){% endif %}", "{{ loop.depth }}{{ loop(n.kids)|upper }}", "{{ loop(n.kids) }}{{ loop.depth0 }}{{ loop.index }}")
            return t("for n in tree recursive") + walk + (self.scoped(["n"], self.output) if self.r.random() < 0.4 else "") + t("endfor")
        if k == 27:
            setup = self.pick("set c = cycler('a', 'b', 3)", "set c = joiner(', ')", "set c = joiner()")
            use = "{{ c.next() }}{{ c.current }}" if "cycler" in setup else "{{ c() }}"
            return t(setup) + t("for x in " + self.r.choice(LISTS)) + use + self.body(depth, True) + t("endfor") + self.pick("", "{{ c.reset() }}{{ c.current }}" if "cycler" in setup else use)
        if k == 28:
            self.blocks += 1
            name = f"b{self.blocks}"
            kind = self.pick("", "", " scoped", " scoped", " required" if self.r.random() < 0.2 else "")
            body = self.pick(" ", "", "\n") if "required" in kind and self.r.random() < 0.8 else self.body(depth, False)
            return t(f"block {name}{kind}") + body + t(self.pick("endblock", f"endblock {name}"))
        if k == 32:
            value = self.pick("true", "true", "true", "false", "yes", "no", "n > 3", "nil", "1", "''", "missing", self.sane_expr())
            return t(f"autoescape {value}") + self.body(depth, loop) + "{{ " + self.markup() + " }}" + t("endautoescape")
        if k == 33:
            return self.data() + "{{ " + self.pick(self.reference, self.markup, self.long_integer)() + " }}"
        if k == 29:
            name = self.pick("mut", "acc")
            change = self.pick(f"{name}.append({self.atom()})", f"{name}.extend({self.r.choice(LISTS)})", f"{name}.insert(0, {self.atom()})", f"{name}.pop()", f"{name}.clear()", f"{name}.reverse()", f"{name}.remove(1)", f"{name}.sort()")
            return t(f"set {name} = [{self.atom()}, 1]") + "{{ " + change + " }}" + self.pick("", t(f"set _ = {change}")) + "{{ " + name + " }}"
        if k == 30:
            name = "upd"
            change = self.pick(f"{name}.update({{'k': {self.atom()}}})", f"{name}.setdefault('b', {self.atom()})", f"{name}.pop('a')", f"{name}.pop('zz', {self.atom()})", f"{name}.update(a={self.atom()})", f"{name}.clear()", f"{name}.popitem()")
            return t(f"set {name} = {{'a': {self.atom()}, 'z': 1}}") + "{{ " + change + " }}{{ " + name + " }}"
        return self.data() + self.output()

    def mutated(self, source):
        """The program with some characters lost, doubled or put in: mostly a syntax error, which both must see."""
        for _ in range(self.r.randrange(1, 3)):
            at = self.r.randrange(len(source) + 1)
            k = self.r.randrange(4)
            if k == 0:
                source = source[:at] + source[at + 1:]
            elif k == 1:
                source = source[:at] + self.pick("{", "}", "%", "#", "(", ")", "[", "]", ",", ".", "|", "'", '"', "-", "+", " ", "\n", "=", ":", "~", "!", "\\", "_", "0", "e", "x", "if ", "not ", "\r\n", "{%", "%}", "{{", "}}", "{#", "#}") + source[at:]
            elif k == 2:
                source = source[:at] + source[at:at + 3] + source[at:]
            else:
                to = self.r.randrange(len(source) + 1)
                source = source[:min(at, to)] + source[max(at, to):] if abs(at - to) < 8 else source
        return source

    def program(self, focus=False):
        self.locals, self.macros, self.blocks, self.focus = [], [], 0, focus
        self.small = self.r.random() < 0.97
        source = "".join(self.statement() for _ in range(self.r.randrange(1, 4 if self.small else 6)))
        return self.mutated(source) if self.r.random() < 0.08 else source
