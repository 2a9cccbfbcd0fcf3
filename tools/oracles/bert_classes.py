#!/usr/bin/env python3
"""Writes the character classes that BERT's normalizer and words go by, as Hugging Face `tokenizers` has them: those of an
older Unicode than today's. Prints the table of src/text/tokenizer_bert_classes.cpp.

    pip install tokenizers
    bert_classes.py > table.inc
"""

import unicodedata

from tokenizers import normalizers, pre_tokenizers


def normalizer(**on):
    names = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
    return normalizers.BertNormalizer(**{name: on.get(name, False) for name in names})


def kind_of(code, clean, strip, words):
    text = f"a{chr(code)}b"
    if clean.normalize_str(text) == "ab":
        return "Removed"
    if strip.normalize_str(text) == "ab":
        return "Accent"
    if [word for word, _ in words.pre_tokenize_str(text)] == ["a", chr(code), "b"]:
        return "Mark"
    return None


def main():
    tools = normalizer(clean_text=True), normalizer(strip_accents=True), pre_tokenizers.BertPreTokenizer()
    ranges = []
    for code in (c for c in range(0x80, 0x110000) if not 0xD800 <= c < 0xE000):
        # Most code points are letters, unassigned or private, and of one kind: nobody has to ask.
        category = unicodedata.category(chr(code))
        asked = category[0] in "CMPS" and category not in ("Cn", "Co")
        kind = kind_of(code, *tools) if asked else "Removed" if category == "Co" else None
        if ranges and ranges[-1][1] == code - 1 and ranges[-1][2] == kind:
            ranges[-1][1] = code
        else:
            ranges.append([code, code, kind])
    line = "   "
    for first, last, kind in ranges:
        if kind:
            entry = f" {{0x{first:X}, 0x{last:X}, BertClass::k{kind}}},"
            if len(line) + len(entry) > 108:
                print(line)
                line = "   "
            line += entry
    print(line)


if __name__ == "__main__":
    main()
