#!/usr/bin/env python3
"""Writes what `tokenizers` makes of marks that later versions of Unicode than its own know: they stay where they are.

    pip install tokenizers unicodedata2
    nfc_fixture.py > tests/text/fixtures/nfc_later.txt

A line: the code point, then as code points a text in which it stands among marks, ':', and the text normalized (NFC).
"""

import unicodedata2 as newest
from tokenizers import normalizers

nfc = normalizers.NFC().normalize_str


def codes(text):
    return " ".join(f"{ord(c):X}" for c in text)


def texts(char):
    yield f"e{char}\u0301\u0316\u0301"
    yield f"e\u0301{char}\u0316"
    if newest.normalize("NFD", char) != char:
        yield newest.normalize("NFD", char)
        yield char


def main():
    points = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    parts = {part for char in points for part in newest.normalize("NFD", char) if newest.normalize("NFD", char) != char}
    for char in points:
        if not newest.combining(char) and newest.normalize("NFD", char) == char and char not in parts:
            continue
        if all(nfc(text) == newest.normalize("NFC", text) for text in texts(char)):
            continue
        for text in texts(char):
            print(f"{ord(char):X} {codes(text)} : {codes(nfc(text))}")


if __name__ == "__main__":
    main()
