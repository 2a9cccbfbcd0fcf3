#!/usr/bin/env python3
"""Writes where Hugging Face `tokenizers` cuts text by the published patterns of pre-tokenizers.

    pip install tokenizers
    pre_fixtures.py --out tests/text/fixtures/pre_words.jsonl

For pre-tokenizers of which no vocabulary is at hand. The patterns are those of the models' own tokenizer.json (Kimi K2: of
its tokenization_kimi.py), as llama.cpp's src/llama-vocab.cpp cites them; AFMoE's digits are grouped as that file says.
Fixture lines: {"pre": name, "words": [...]}.
"""

import argparse
import json
import random

from tokenizers import Regex, pre_tokenizers as p
from tokenizer_oracle import DEEPSEEK_V3, GPT4O, LLAMA3, QWEN2, random_text

CASED = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
KIMI = (r"[\p{Han}]+"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+" + CASED + "?"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*" + CASED + "?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
JAIS2 = LLAMA3.replace(r"|\s+(?!\S)|\s+", "".join(rf"|\s{{{n}}}(?!\S)" for n in (512, 256, 128, 64, 32, 16, 8, 4, "1,2"))
                       + r"|\s{1}")
EXAONE_MOE = CASED + (r"|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]"
                      r"|\s+(?!\S)|\s+")
MINICPM5 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}+")
UFAKZEKA = QWEN2.removeprefix(CASED + "|")
SPARK = DEEPSEEK_V3.replace(r"[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+", r"[\p{P}\p{S}]+|[\r\n]")
AFMOE_SCRIPTS = ("[一-鿿㐀-䶿豈-\ufaff\u3040-ゟ゠-ヿ･-ﾟ⼀-\u2fdfเ-\u0e7f\u0e80-\u0effក-\u17ff"
                 "က-႟ꩠ-ꩿꧠ-\ua9ff가-\ud7afᄀ-ᇿ]+")


def parts():
    def split(pattern):
        return p.Split(Regex(pattern), "isolated")

    gpt2 = p.ByteLevel(add_prefix_space=False, use_regex=True)
    return {
        "kimi-k2": [split(KIMI)],
        "jais-2": [split(JAIS2)],
        "exaone-moe": [split(EXAONE_MOE)],
        "tiny_aya": [split(r"\d{1,3}(?=(?:\d{3})*\b)"), split(GPT4O)],
        "superbpe": [split(r"\p{N}+"), split(r"(?=(\d{3})+(?!\d))")],
        "afmoe": [split(r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))"), split(AFMOE_SCRIPTS), split(DEEPSEEK_V3)],
        "laguna": [split(r"[^\n]+|[\n]+"), split(QWEN2)],
        "chameleon": [split("<sentinel:[0-9]+>"), split("(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z"), split(r"([\t\n]|    |  )"),
                      p.Digits(individual_digits=True), p.Punctuation("isolated"), gpt2],
        "minicpm5": [split(r"\p{N}{1,3}"), split(MINICPM5)],
        "ufakzeka": [split(UFAKZEKA)],
        "spark2_5": [split(r"\p{N}{1,3}"), split("[一-龥\u3040-ゟ゠-ヿ]+"), split(SPARK), split(r"\p{N}")],
        "granite-embed-multi-97m": [split(GPT4O)],
        "mellum2": [p.Digits(individual_digits=True), gpt2],
        "jina-v5-nano": [split(LLAMA3)],
        "f2llmv2": [split(QWEN2)],
        "hy_v4": [split(r"\p{N}{1,3}"), split("[一-龥\u3040-ゟ゠-ヿ]+"), split(DEEPSEEK_V3)],
        "talkie": [split(GPT4O)],
        "roberta-bpe": [gpt2],
        "jina-v1-en": [gpt2],
        "jina-v2-code": [gpt2],
    }


EDGES = ["1234567", "12", "123", "1234", "a1234567b", "1234567.", "1234567_", "12345abc", "x12,345.67", "½123", "123½", "1234½",
         "½½", "Ⅷ1234", "１２３４５", "12345é", "1234\u0301", "٣٤٥٦٧ abc", "1234567890123", "12 345 6789",
         "<sentinel:12> IMGIMGABCZ IMGIMGAZx IMGIMGABCDEZ", "a  b    c     d\te\n\nf", "don't STOP'S it'Ll", "the cat sat on 3 mats",
         "a b  c é e\u0301 x\u0301 y", "a/\n//\r\nb/", "!\n\n?\r\r", "日本語abc漢字々、。カタカナ한국어ไทยລາວខ្មែរမြန်မာ",
         "中Aa文bB", "A中b", "HelloWorld中文's", "\n\n\nab\n \ncd\r\n", " " * 3 + "x", " " * 700 + "y", " " * 1030, "\t" * 9 + "z",
         "\u3000" * 20 + "全角", "x\u200b\u200by", "🦙🦙 👩\u200d💻!", "豈更", "𠮷野", "〇々〆ヶ"]


def words(pre_tokenizer, text):
    cuts = [piece for _, piece in pre_tokenizer.pre_tokenize_str(text)]
    assert cuts[0][0] == 0 and all(a[1] == b[0] for a, b in zip(cuts, cuts[1:])) and cuts[-1][1] == len(text), text
    return [text[a:b] for a, b in cuts]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("-n", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with open(options.out, "w", encoding="utf-8") as out:
        for name, steps in parts().items():
            rng = random.Random(options.seed)
            made = p.Sequence(steps)
            for text in EDGES + [random_text(rng, []) for _ in range(options.n)]:
                if text:
                    out.write(json.dumps({"pre": name, "words": words(made, text)}, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
