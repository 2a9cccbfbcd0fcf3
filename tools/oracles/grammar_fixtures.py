#!/usr/bin/env python3
"""Writes fixtures for the notations of grammars: which texts each of many grammars has, as the `lark` package says.

    pip install lark
    grammar_fixtures.py --out tests/grammar/fixtures/notations.jsonl

A line: {"syntax": "gbnf" or "lark", "grammar": text, "texts": [[text, allowed], …]}.

Lark grammars are judged as they are, by Lark's Earley parser with the lexer "dynamic_complete". A GBNF grammar is read by
the small reader here and given to the same parser with every character a terminal. Texts are those written beside each
grammar, and small changes to them (a character dropped, doubled, swapped or replaced), half of which no grammar has.
"""

import argparse
import json
import random
import re

import lark

# ---- GBNF, by its guide: rules to Lark's notation, one terminal for each character

ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


class Gbnf:
    def __init__(self, source):
        self.source, self.at, self.out, self.terminals = source, 0, [], {}

    def blanks(self, lines):
        pattern = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*" if lines else r"(?:[ \t]|#[^\n]*)*")
        self.at = pattern.match(self.source, self.at).end()

    def take(self, pattern):
        match = re.compile(pattern).match(self.source, self.at)
        if match:
            self.at = match.end()
        return match

    def to_lark(self):
        self.blanks(True)
        while self.at < len(self.source):
            name = self.take(r"[A-Za-z0-9_-]+")[0]
            self.blanks(False)
            assert self.take("::="), self.source[self.at:]
            self.blanks(True)
            self.out.append(f"{self.rule(name)}: {self.alternatives(False)}")
            self.blanks(True)
        # Terminals of common characters first only matters to Lark's names.
        lines = ["start: " + self.rule("root"), *self.out, *(f"{n}: {p}" for p, n in self.terminals.items())]
        return "\n".join(lines) + "\n"

    @staticmethod
    def rule(name):
        return "r_" + name.lower().replace("-", "_x_") + ("_u" if name != name.lower() else "")

    def terminal(self, pattern):
        return self.terminals.setdefault(pattern, f"T{len(self.terminals)}")

    def alternatives(self, nested):
        parts = [self.sequence(nested)]
        while True:
            if self.take(r"\|"):
                self.blanks(True)
                parts.append(self.sequence(nested))
                continue
            here = self.at
            self.blanks(True)
            if nested or self.at >= len(self.source) or self.source[self.at] != "|":
                self.at = here
                return " | ".join(parts)

    def sequence(self, nested):
        parts = []
        while self.at < len(self.source) and self.source[self.at] not in "|)\n\r":
            part = self.item()
            self.blanks(nested)
            while quantifier := self.take(r"[*+?]|\{\s*(\d+)\s*(,?)\s*(\d*)\s*\}"):
                if quantifier[0][0] != "{":
                    part = f"({part}){quantifier[0]}"
                else:
                    low, high = quantifier[1], quantifier[3]
                    if not quantifier[2]:
                        part = f"({part}) ~ {low}"
                    elif high:
                        part = f"({part}) ~ {low}..{high}"
                    else:
                        part = f"(({part}) ~ {low} ({part})*)"
                    part = f"({part})"
                self.blanks(nested)
            parts.append(part)
        return " ".join(parts)

    def character(self):
        if self.source[self.at] != "\\":
            self.at += 1
            return self.source[self.at - 1]
        self.at += 1
        letter = self.source[self.at]
        self.at += 1
        if letter in "xuU":
            digits = {"x": 2, "u": 4, "U": 8}[letter]
            self.at += digits
            return chr(int(self.source[self.at - digits:self.at], 16))
        return ESCAPES.get(letter, letter)

    @staticmethod
    def quoted(character):
        if character.isascii() and character.isprintable() and not character.isalnum() and character != " ":
            return "\\" + character
        return f"\\U{ord(character):08x}"

    def item(self):
        if self.take(r"\("):
            self.blanks(True)
            inner = self.alternatives(True)
            assert self.take(r"\)"), self.source[self.at:]
            return f"({inner})"
        if self.take('"'):
            letters = []
            while self.source[self.at] != '"':
                letters.append(self.terminal(f"/{self.quoted(self.character())}/"))
            self.at += 1
            return "(" + " ".join(letters) + ")"
        if self.take(r"\["):
            body = "^" if self.take(r"\^") else ""
            while self.source[self.at] != "]":
                body += self.quoted(self.character())
                if self.source[self.at] == "-" and self.source[self.at + 1] != "]":
                    self.at += 1
                    body += "-" + self.quoted(self.character())
            self.at += 1
            return self.terminal(f"/[{body}]/s")
        if self.take(r"\."):
            return self.terminal("/./s")
        return self.rule(self.take(r"[A-Za-z0-9_-]+")[0])


# ---- grammars, each with texts that it has

GBNF = [
    ('root ::= "a" | "bc" | "b"', ["a", "bc", "b"]),
    (r'''# a game of chess, as a list of moves
root ::= (
    # the first line is numbered 1
    "1. " move " " move "\n"

    ([1-9] [0-9]? ". " move " " move "\n")*
)
move ::= (pawn | nonpawn | castle) [+#]?
nonpawn ::= [NBKQR] [a-h]? [1-8]? "x"? [a-h] [1-8]
pawn ::= ([a-h] "x")? [a-h] [1-8] ("=" [NBKQR])?
castle ::= "O-O" "-O"?
''', ["1. e4 e5\n", "1. e4 e5\n2. Nf3 Nc6\n", "1. O-O-O exd8=Q+\n10. Qh4xe1# O-O\n"]),
    (r'''root   ::= object
value  ::= object | array | string | number | ("true" | "false" | "null") ws
object ::=
  "{" ws (
            string ":" ws value
    ("," ws string ":" ws value)*
  )? "}" ws
array  ::=
  "[" ws (
            value
    ("," ws value)*
  )? "]" ws
string ::=
  "\"" (
    [^"\\\x7F\x00-\x1F] |
    "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4}) # escapes
  )* "\"" ws
number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9]+)? ws
ws ::= ([ \t\n] ws)?
''', ["{}", '{"a":1}', '{ "a" : [1, 2.5e-3, "x\\n\\u00e9"] , "b":{"c":null}}', '{"k": [true,false,null,[]]}\n',
      '{"é漢": "𝄞"}']),
    (r'''root ::= item+
# one line each
item ::= "- " [^\r\n\x0b\x0c\x85\u2028\u2029]+ "\n"
''', ["- a\n", "- one\n- two, three\n", "- \u00e9\u6f22\n"]),
    (r'''root ::= (expr "=" ws term "\n")+
expr ::= term ([-+*/] term)*
term ::= ident | num | "(" ws expr ")" ws
ident ::= [a-z] [a-z0-9_]* ws
num ::= [0-9]+ ws
ws ::= [ \t\n]*
''', ["a=1\n", "a+b=c\n", "(a +2) *b = 7\nx=y\n"]),
    (r'''root ::= jp-char+ ([ \t\n] jp-char+)*
jp-char ::= hiragana | katakana | punctuation | cjk
hiragana ::= [ぁ-ゟ]
katakana ::= [ァ-ヿ]
punctuation ::= [、-〾]
cjk ::= [一-鿿]
''', ["ひらがな", "カタカナ 漢字", "これは、漢字。\nはい"]),
    (r'''root ::= en-char+ ([ \t\n] en-char+)*
en-char ::= letter | digit | punctuation
letter ::= [a-zA-Z]
digit ::= [0-9]
punctuation ::= [!"#$%&'()*+,-./:;<=>?@[\\\]^_`{|}~]
''', ["Hello, world!", "a\\b [c] ^_^", "1\n2"]),
    (r'''root ::= (declaration)*
declaration ::= dataType identifier "(" parameter? ")" "{" statement* "}"
dataType ::= "int" ws | "float" ws | "char" ws
identifier ::= [a-zA-Z_] [a-zA-Z_0-9]*
parameter ::= dataType identifier
statement ::=
    ( dataType identifier ws "=" ws expression ";" ) |
    ( identifier ws "=" ws expression ";" ) |
    ( identifier ws "(" argList? ")" ";" ) |
    ( "return" ws expression ";" ) |
    ( "while" "(" condition ")" "{" statement* "}" )
condition ::= expression relationOperator expression
relationOperator ::= ("<=" | "<" | "==" | "!=" | ">=" | ">")
expression ::= term (("+" | "-") term)*
term ::= factor(("*" | "/") factor)*
factor ::= identifier | number | unaryTerm | funcCall | parenExpression
unaryTerm ::= "-" factor
funcCall ::= identifier "(" argList? ")"
parenExpression ::= "(" ws expression ws ")"
argList ::= expression ("," ws expression)*
number ::= [0-9]+
ws ::= ([ \t\n]+)
''', ["int f(){}", "int f(int x){return -(1)*2;}", "float g(){int x = 1;while(x<=10){x = x+f(x,  2);}}"][:1] + [
        "int f(){return 1;}", "char f(int x){y = -2*g(x);}", "int f(){while(a<=10){g ();}}"]),
    ('root ::= "[" (num ("," num)*)? "]"\nnum ::= [0-9]{1,3} ("." [0-9]{2})?', ["[]", "[1]", "[12,345.67,8]"]),
    ('root ::= ([a-c] [0-9]){2,4} "x"{3} "y"{0,2} "z"{1,}', ["a1b2xxxz", "a1b2c3a4xxxyyzzz"]),
    ('root ::= "\\x41\\u00e9\\U0001f600" [\\x30-\\x39\\U0001F600-\\U0001F64F]* [^a-z\\]\\\\] "-"', ["Aé😀5😁Z-", "Aé😀é-"]),
    ('root ::= . . "." .?', ["ab.", "\n..x", "😀é.\n"]),
    ('root ::= list\nlist ::= list "," item | item\nitem ::= [a-z]+', ["a", "ab,c", "a,b,c,d"]),
    ('root ::= sum\nsum ::= sum "+" sum | sum "*" sum | "-" sum | sum "!" | "(" sum ")" | [0-9]+',
     ["1", "1+2*3", "-(1+2)!*-3!!", "--1"]),
    ('root ::= a\na ::= b "x" | "y"\nb ::= a "z" | "w"', ["y", "wx", "yzx", "wxzx", "yzxzx"]),
    ('root ::= p\np ::= "(" p ")" p | ""', ["", "()", "(())()", "((()))"]),
    ('root ::= "" | "a" root "b" | root-2\nroot-2 ::= "c" root-2?', ["", "ab", "aabb", "acb", "ccc"]),
    ('root ::= opt opt opt\nopt ::= "a"? "b"*\n', ["", "aaa", "abbabb", "bab"]),
    ('root ::= (("a"* "b"*)* "c")*', ["", "c", "abac", "bbcaac"]),
    ('root ::= "a"\n  | "b" # both\n  | ("c"\n "d")\n', ["a", "b", "cd"]),
    ('root ::= \n  "x" |\n  "y"\r\n', ["x", "y"]),
    ('root ::= [-a] [a-] [\\-] [^-] "\\[\\]"', ["-a-b[]", "aa-\n[]", "---a[]"]),
    ('root ::= _under_score UPPER-1\n_under_score ::= "u"\nUPPER-1 ::= "U"', ["uU"]),
]

LARK = [
    ('start: "a" | "bc"', ["a", "bc"]),
    (r'''
// arithmetic
?start: sum
?sum: product
    | sum "+" product   -> add
    | sum "-" product   -> sub
?product: atom
    | product "*" atom  -> mul
    | product "/" atom  -> div
?atom: NUMBER           -> number
     | "-" atom         -> neg
     | NAME             -> var
     | "(" sum ")"
%import common.CNAME -> NAME
%import common.NUMBER
%import common.WS_INLINE
%ignore WS_INLINE
''', ["1", "1+2*3", " ( a - 2.5e3 )*  -b / c", "--x1"]),
    (r'''
?start: value
?value: object | array | string | SIGNED_NUMBER | "true" | "false" | "null"
array  : "[" [value ("," value)*] "]"
object : "{" [pair ("," pair)*] "}"
pair   : string ":" value
string : STRING
STRING: /"([^"\\\n]|\\.)*"/
%import common (SIGNED_NUMBER, WS)
%ignore WS
''', ["{}", '{"a": [1, -2.5, "x\\"y"]}', ' [ true ,\nfalse, null ] ', '"x"']),
    (r'''start: SELECT columns FROM CNAME [where] ";"
columns: "*" | CNAME ("," CNAME)*
where: "where"i CNAME OP (INT | ESCAPED)
SELECT.2: "select"i
FROM: "from"i
OP: "=" | "<" ["=" | ">"] | ">" "="?
ESCAPED: /'[^'\n]*'/
%import common.CNAME
%import common.INT
%ignore /[ \t\n]+/
'''.replace("SELECT.2", "SELECT"), ["select * from t;", "SELECT a, b FROM t WHERE a <= 10 ;", "Select x from y where z <> 'q r';"]),
    ('start: A ~ 2 B ~ 1..3 c{2,3} D{,2} E{2,} F{1}\nA: "a"\nB: "b"\nc: "c"\nD: "d"\nE: "e"\nF: "f"',
     ["aabcceef", "aabbbcccddeeeeef"]),
    ('start: ("a".."c")+ DIGITS? /x(?=y)/?'.replace(" /x(?=y)/?", "") + '\nDIGITS: ("0".."9")+', ["a", "cab12"]),
    ('start: A+\nA: /[a-c]x*/i | /d.e/s | /f g # comment\n /x', ["a", "BxXC", "d\neFG".replace("FG", "fg"), "fg"]),
    ('start: WORD ("," WORD)*\nWORD: _LETTER (_LETTER | "_" | DIGIT)*\n_LETTER: "a".."z" | "A".."Z"\nDIGIT: /[0-9]/',
     ["abc", "a_1,B2,c"]),
    ('start: list\nlist: list item | item\nitem: "x" | "(" list ")"', ["x", "xx", "(x)x(xx(x))"]),
    ('start: e\ne: e "+" e | e "*" e | "!" e | e "?" | "(" e ")" | /[0-9]/', ["1", "1+2*3", "!1?+(2*3)?"]),
    ('start: value\nvalue: call | "f" | attr\ncall: value "(" [value] ")"\nattr: value "." "f"',
     ["f", "f()", "f.f(f())", "f(f.f)()"]),
    ('!start: "if"i "x" ("else" "y")? -> cond\n     | "z"\n', ["ifx", "IFxelsey", "z"]),
    ('start: a b?\na: "a" |\nb: "b"', ["", "a", "ab", "b"]),
    ('start: "\\u00e9" "\\x41" "\\n" "\\\\" "\\"" "\\U0001F600"', ["éA\n\\\"😀"]),
    ('start: /\\d+/ /\\w/ /\\s/ /[^\\d\\s]/ /\\x41\\u0042/', ["12a b" + "AB", "1_\n-AB"]),
    ('start: /a{2}b{1,2}c{,2}d{1,}/ /{x}/ /[]a]/ /[^]a]/ /\\//', ["aabd{x}]b/", "aabbccdd{x}ac/"]),
    ('start: (A | B)+\nA: "ab"\nB: "a" "b" "c"', ["ab", "abc", "ababcab"]),
    ('start: /(?i:abc)d/ /(?P<n>x|y)+/ /(?:a|b){2}/', ["ABcdxyab", "abcdxba"]),
    ('start: C_COMMENT | CPP_COMMENT\n%import common.C_COMMENT\n%import common.CPP_COMMENT',
     ["/* a * b */", "//x", "/**/", "/***/"]),
    ('start: (ESCAPED_STRING | SIGNED_FLOAT | HEXDIGIT)+\n%import common.ESCAPED_STRING\n%import common.SIGNED_FLOAT\n'
     '%import common.HEXDIGIT\n%ignore " "', ['"a"', '1.5 "b\\"c" f', "-1e5 +.5"]),
    ('start: "x" y "z"\ny: "y"*\n%ignore /#[^\\n]*\\n/\n%ignore " "', ["xz", "x yy # c\n z", " xyz #\n"]),
]


def changed(random_, text, alphabet):
    letters = list(text)
    for _ in range(random_.choice((1, 1, 2))):
        at = random_.randrange(len(letters) + 1)
        what = random_.randrange(4)
        if what == 0 and at < len(letters):
            del letters[at]
        elif what == 1 and at < len(letters):
            letters.insert(at, letters[at])
        elif what == 2 and at + 1 < len(letters):
            letters[at], letters[at + 1] = letters[at + 1], letters[at]
        else:
            letters[at:at + random_.randrange(2)] = random_.choice(alphabet)
    return "".join(letters)


def allows(parser, text):
    try:
        parser.parse(text)
        return True
    except lark.exceptions.LarkError:
        return False


def fixture(syntax, grammar, texts, count):
    random_ = random.Random(grammar)
    # Lark takes {m,n} only as ~ m..n.
    judged = Gbnf(grammar).to_lark() if syntax == "gbnf" else re.sub(
        r"(?<=[a-zA-Z])\{(\d*)(,?)(\d*)\}(?![^\n/]*/)",
        lambda m: f" ~ {m[1] or 0}..{m[3]}" if m[3] else f" ~ {m[1]}" if not m[2] else f" ~ {m[1]}..50", grammar)
    parser = lark.Lark(judged, parser="earley", lexer="dynamic_complete", ambiguity="resolve")
    for text in texts:
        if not allows(parser, text):
            raise SystemExit(f"not a text of the grammar: {text!r}\n{grammar}")
    alphabet = sorted(set("".join(texts) + " x0\n-+(é")) or ["x"]
    wanted = dict.fromkeys(texts)
    while len(wanted) < count + len(texts):
        wanted[changed(random_, random_.choice(texts), alphabet)] = None
    rows = [[text, allows(parser, text)] for text in wanted]
    return {"syntax": syntax, "grammar": grammar, "texts": rows}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--out", required=True)
    arguments.add_argument("-n", type=int, default=40, help="changed texts for each grammar")
    options = arguments.parse_args()
    yes = no = 0
    with open(options.out, "w", encoding="utf-8") as out:
        for syntax, grammars in (("gbnf", GBNF), ("lark", LARK)):
            for grammar, texts in grammars:
                row = fixture(syntax, grammar, texts, options.n)
                yes += sum(allowed for _, allowed in row["texts"])
                no += sum(not allowed for _, allowed in row["texts"])
                out.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(f"{len(GBNF) + len(LARK)} grammars, {yes} texts allowed, {no} not")


if __name__ == "__main__":
    main()
