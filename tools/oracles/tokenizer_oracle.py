#!/usr/bin/env python3
"""Compares the tokenizers of Brass with the original implementations, or writes fixtures of what those say.

The oracle of a byte-level vocabulary, and of Gemma 4, is Hugging Face `tokenizers`, put together from the vocabulary
in a GGUF file and the pre-tokenizer that the model's own tokenizer.json names (built from its native parts where it
has them), or BERT's normalizer, words and WordPiece; that of a SentencePiece vocabulary is `sentencepiece` itself, for Unigram
its normalizer with Hugging Face's search.

    pip install gguf tokenizers sentencepiece protobuf
    tokenizer_oracle.py check MODEL.gguf --brass build/release/brass -n 100000
    tokenizer_oracle.py fixtures MODEL.gguf --out tests/text/fixtures/tokenizer_NAME.jsonl -n 250

Fixture lines: {"t": text, "n": normalized, "s": control pieces parsed, "ids": [...]}, without BOS and EOS.
"""

import argparse
import functools
import json
import random
import subprocess
import sys
import tempfile
import unicodedata

import gguf

SLICE = 50_000  # texts at once
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
QWEN35 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
WORD = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*")
TAIL = r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
TEKKEN = "|".join(WORD) + r"|\p{N}" + TAIL
GPT4O = "|".join(w + r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?" for w in WORD) + r"|\p{N}{1,3}" + TAIL
DEEPSEEK_V3 = (r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
               r"""| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+""")


def byte_level_parts(pre):
    """The pre-tokenizer of a byte-level vocabulary, and whether it normalizes to NFC and keeps whole words."""
    from tokenizers import Regex, pre_tokenizers as p

    def split(pattern):
        return p.Split(Regex(pattern), "isolated")

    plain = p.ByteLevel(add_prefix_space=False, use_regex=False)
    gpt2 = p.ByteLevel(add_prefix_space=False, use_regex=True)
    digits = p.Digits(individual_digits=True)
    table = {
        "gpt-2": ([gpt2], False, False),
        "smollm": ([digits, gpt2], False, False),
        "starcoder": ([digits, gpt2], False, False),
        "command-r": ([digits, gpt2], True, False),
        "mpt": ([gpt2], True, False),
        "llama-bpe": ([split(LLAMA3), plain], False, True),
        "qwen2": ([split(QWEN2), plain], True, False),
        "qwen35": ([split(QWEN35), plain], True, False),
        "tekken": ([split(TEKKEN), plain], False, True),
        "gpt-4o": ([split(GPT4O), plain], False, False),
        "deepseek-coder": ([split(r"[\r\n]"), split(r"\s?\p{L}+"), split(r"\s?\p{P}+"),
                            split("[一-龥\u0800-一가-\ud7ff]+"), digits, plain], False, False),
        "deepseek-v3": ([split(r"\p{N}{1,3}"), split("[一-龥\u3040-ゟ゠-ヿ]+"), split(DEEPSEEK_V3), plain], False, False),
        "falcon": ([p.Punctuation("contiguous"), gpt2, split("[0-9][0-9][0-9]")], False, False),
        "bloom": ([split(" ?[^(\\s|.,!?…。，、।۔،)]+"), plain], False, False),
        "bailingmoe": ([split(r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*"
                              r"|\s*[\r\n]|\s+(?!\S)|\s+"), plain], False, False),
    }
    if pre not in table:
        sys.exit(f"no oracle for the pre-tokenizer '{pre}'; there is one for {', '.join(table)}")
    parts, nfc, whole_words = table[pre]
    return p.Sequence(parts), nfc, whole_words


class Vocabulary:
    def __init__(self, path, pre):
        reader = gguf.GGUFReader(path)

        def field(name, default=None):
            entry = reader.fields.get("tokenizer.ggml." + name)
            return default if entry is None else entry.contents()

        self.model = field("model")
        self.pre = pre or field("pre")
        self.tokens = field("tokens")
        self.kinds = field("token_type")
        self.scores = field("scores")
        self.merges = [tuple(m.split(" ")) for m in field("merges", [])]
        self.unk = field("unknown_token_id")
        self.blank_in_front = field("add_space_prefix", self.model in ("llama", "t5"))
        self.few_blanks = field("remove_extra_whitespaces", self.model == "t5")
        self.charsmap = bytes(field("precompiled_charsmap", []))
        self.lowercase = field("normalizer.lowercase", True)
        self.strip_accents = field("normalizer.strip_accents", self.lowercase)
        self.special = [t for t, k in zip(self.tokens, self.kinds) if k in (CONTROL, USER_DEFINED)]


def hugging_face(vocabulary):
    """A function (texts, normalize, parse_special) -> a list of ids for each."""
    from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

    vocab = {token: i for i, token in enumerate(vocabulary.tokens)}
    if vocabulary.model == "gemma4":
        model = models.BPE(vocab, vocabulary.merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True)
        pre, normalizer, nfc = pre_tokenizers.Split(" ", "merged_with_previous"), normalizers.Replace(" ", "▁"), False
    else:
        pre, nfc, whole_words = byte_level_parts(vocabulary.pre)
        model, normalizer = models.BPE(vocab, vocabulary.merges, ignore_merges=whole_words), None
    made = {}
    for normalize in (False, True):
        tokenizer = Tokenizer(model)
        tokenizer.pre_tokenizer = pre
        if normalize and nfc:
            tokenizer.normalizer = normalizers.NFC()
        elif normalizer:
            tokenizer.normalizer = normalizer
        for token, kind in zip(vocabulary.tokens, vocabulary.kinds):
            if kind in (CONTROL, USER_DEFINED):
                added = AddedToken(token, normalized=False, special=kind == CONTROL)
                (tokenizer.add_special_tokens if kind == CONTROL else tokenizer.add_tokens)([added])
        made[normalize] = tokenizer

    return added_tokens_encoder(made)


def added_tokens_encoder(made):
    def encode(texts, normalize, parse_special):
        tokenizer = made[normalize]
        tokenizer.encode_special_tokens = not parse_special
        return [one.ids for one in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]

    return encode


def bert(vocabulary):
    """A function (texts, normalize, parse_special) -> a list of ids for each."""
    from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

    def spelling(token, kind):
        if kind != NORMAL:
            return token
        return token[1:] if token.startswith("▁") and token != "▁" else "##" + token

    tokens = [spelling(token, kind) for token, kind in zip(vocabulary.tokens, vocabulary.kinds)]
    model = models.WordPiece({token: i for i, token in enumerate(tokens)}, unk_token=tokens[vocabulary.unk])
    made = {}
    for normalize in (False, True):
        tokenizer = Tokenizer(model)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        if normalize:
            tokenizer.normalizer = normalizers.BertNormalizer(lowercase=vocabulary.lowercase,
                                                              strip_accents=vocabulary.strip_accents)
        tokenizer.add_special_tokens([AddedToken(t, normalized=False) for t in vocabulary.special])
        made[normalize] = tokenizer

    return added_tokens_encoder(made)


def unigram(vocabulary):
    """Hugging Face's Unigram behind SentencePiece's own normalization. The two sum scores in double and in single precision: of
    cuts that are equally good (a run of one letter has many) SentencePiece takes whichever rounding favours."""
    from tokenizers import Tokenizer, models

    import sentencepiece

    pieces = [(token if kind in (NORMAL, BYTE) else f"\U0010ffff{i}", score if kind == NORMAL else 0.0)
              for i, (token, score, kind) in enumerate(zip(vocabulary.tokens, vocabulary.scores, vocabulary.kinds))]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=vocabulary.unk, byte_fallback=BYTE in vocabulary.kinds))
    prepare = {n: sentencepiece.SentencePieceNormalizer(model_proto=sentence_piece_proto(vocabulary, n).SerializeToString())
               for n in (False, True)}

    def encode(texts, normalize, parse_special):
        prepared = [prepare[normalize].normalize(text) for text in texts]
        return [one.ids for one in tokenizer.encode_batch_fast(prepared)]

    return encode


def sentence_piece(vocabulary):
    import sentencepiece

    made = {normalize: sentencepiece.SentencePieceProcessor(
                model_proto=sentence_piece_proto(vocabulary, normalize).SerializeToString())
            for normalize in (False, True)}
    return lambda texts, normalize, parse_special: made[normalize].encode(texts)


def sentence_piece_proto(vocabulary, normalize):
    from sentencepiece import sentencepiece_model_pb2 as pb2

    proto = pb2.ModelProto()
    types = pb2.ModelProto.SentencePiece
    kinds = {NORMAL: types.NORMAL, UNKNOWN: types.UNKNOWN, CONTROL: types.CONTROL, USER_DEFINED: types.USER_DEFINED,
             UNUSED: types.UNUSED, BYTE: types.BYTE}
    for i, (token, score, kind) in enumerate(zip(vocabulary.tokens, vocabulary.scores, vocabulary.kinds)):
        kind = UNKNOWN if i == vocabulary.unk else kind
        text = token.replace(" ", "▁") if kind == USER_DEFINED else token
        proto.pieces.add(piece=text, score=score, type=kinds[kind])
    proto.trainer_spec.model_type = pb2.TrainerSpec.UNIGRAM if vocabulary.model == "t5" else pb2.TrainerSpec.BPE
    proto.trainer_spec.byte_fallback = BYTE in vocabulary.kinds
    proto.trainer_spec.unk_id = vocabulary.unk
    for name in ("bos", "eos", "pad"):  # the library looks these up by their texts
        setattr(proto.trainer_spec, name + "_id", -1)
    proto.normalizer_spec.name = "identity"
    if normalize:
        proto.normalizer_spec.precompiled_charsmap = vocabulary.charsmap
    proto.normalizer_spec.add_dummy_prefix = bool(vocabulary.blank_in_front)
    proto.normalizer_spec.remove_extra_whitespaces = bool(vocabulary.few_blanks)
    return proto


CONTRACTIONS = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'LL", "'Re", "'vE", "'ſ", "’s", "'"]
BLANKS = [" ", "  ", "   ", "\t", "\n", "\n\n", "\r\n", "\r", "\v", "\f", "\x85", "\xa0", "\u1680", "\u180e", "\u2003",
          "\u2028", "\u2029", "\u200b", "\u202f", "\u205f", "\u3000", "\ufeff", " \n", "\n ", "\t \t", "     "]
ASCII_MARKS = list("!\"#$%&()*+,-./:;<=>?@[\\]^_`{|}~") + ["...", "!!", "--", "==", "//", "``", "::", "->"]
MARKS = ["。", "，", "…", "“", "”", "—", "！", "～", "、", "।", "€", "×", "±", "∀", "©", "・", "｡", "‿", "№"]
DIGITS = ["0", "7", "42", "365", "1984", "12345", "1234567", "٣", "९", "½", "Ⅷ", "²", "５", "𝟗", "〇", "೫"]
LATIN = ["the", "Hello", "WORLD", "camelCase", "iOS", "naïve", "Ünï", "straße", "ﬁn", "ǅ", "ª", "K", "Å", "é", "e\u0301",
         "a\u0323\u0302", "ſ", "Müller", "x", "I", "tokenization", "don", "été"]
OTHER = ["привет", "Ёлка", "й", "и\u0306", "καλημέρα", "Ω", "שלום", "שׁ", "مرحبا", "ﷺ", "नमस्ते", "क\u093c", "বাংলা", "ไทย", "ខ្មែរ",
         "你好", "世界", "豈", "日本語", "が", "か\u3099", "カ", "ｶﾞ", "々", "한국어", "각", "\u1100\u1161\u11a8", "\u1112\u1161", "ᏣᎳᎩ", "ꮳ",
         "🦙", "👩\u200d💻", "🇩🇪", "✅", "☺\ufe0f", "𝔘", "𐐷", "\u0301", "\u20dd", "\u0f71\u0f72", "\u0958", "\u2126", "\u212b"]
ODD = ["\x00", "\x01", "\x7f", "\u00ad", "\u200d", "\u2060", "\ufffd", "\ue000", "\U000e0001", "\U0010fffd", "\u0378",
       "▁", "▁▁", "Ġ", "Ċ", "<0x0A>", "<|", "|>", "õ", "ü", "<", "</s", "s>"]


def random_text(rng, special, most=24):
    """Words and marks of all scripts, put together so that every rule of the pre-tokenizers has borders to find."""
    kinds = [CONTRACTIONS, BLANKS, BLANKS, ASCII_MARKS, MARKS, DIGITS, LATIN, LATIN, OTHER, OTHER, ODD]
    style = rng.random()
    if style < 0.25:
        kinds = [LATIN, [" "], ASCII_MARKS, DIGITS, BLANKS, CONTRACTIONS]
    elif style < 0.3:
        kinds = [rng.choice(kinds)]
    parts = []
    for _ in range(rng.randint(1, most)):
        draw = rng.random()
        if draw < 0.04 and special:
            token = rng.choice(special)
            parts.append(token if rng.random() < 0.7 else token[: rng.randint(1, len(token))])
        elif draw < 0.10:
            parts.append(random_character(rng))
        elif draw < 0.16 and parts:
            parts.append(parts[-1] * (rng.randint(1, 6) if rng.random() < 0.98 else rng.randint(20, 200)))
        elif draw < 0.22:
            parts.append("".join(rng.choice("abcdefghijklmnopqrstuvwxyzABC") for _ in range(rng.randint(1, 12))))
        else:
            parts.append(rng.choice(rng.choice(kinds)))
    return "".join(parts)


@functools.cache
def categories():
    """The assigned characters of each category (of Unicode 14, with Python 3.11)."""
    made = {}
    for code in (c for c in range(0x110000) if not 0xD800 <= c < 0xE000):
        made.setdefault(unicodedata.category(chr(code)), []).append(chr(code))
    made["Co"] = made["Co"][:100] + made["Co"][-100:]
    return [made[name] for name in sorted(made) if name != "Cn"]


def random_character(rng):
    if rng.random() < 0.5:
        return rng.choice(rng.choice(categories()))
    while True:
        character = chr(rng.choice([rng.randrange(0x20, 0x500), rng.randrange(0x20, 0x3100), rng.randrange(0x20, 0x20000)]))
        if unicodedata.category(character) not in ("Cn", "Cs"):
            return character


def brass_ids(command, model, texts, normalize, parse_special):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        file.writelines(json.dumps(text) + "\n" for text in texts)
        file.flush()
        arguments = [command, "tokenize", model, "--jsonl", file.name, "--no-bos"]
        arguments += ["--special"] if parse_special else []
        arguments += [] if normalize else ["--no-normalize"]
        done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def check(encode, make_text, options, modes):
    """Slices of texts through both sides: memory stays small, however many texts there are."""
    different = compared = 0
    for begin in range(0, options.n, SLICE):
        all_texts = [make_text() for _ in range(min(SLICE, options.n - begin))]
        for i, (normalize, parse_special) in enumerate(modes):
            texts = all_texts[i::len(modes)] if options.one_mode else all_texts
            ours = brass_ids(options.brass, options.model, texts, normalize, parse_special)
            expected = encode(texts, normalize, parse_special)
            assert len(ours) == len(texts), f"{len(ours)} answers to {len(texts)} texts"
            compared += len(texts)
            for text, ids, right in zip(texts, ours, expected):
                if ids == right:
                    continue
                different += 1
                if different <= options.show:
                    print(json.dumps({"t": text, "n": normalize, "s": parse_special, "brass": ids, "oracle": right}))
    print(f"{options.model}, seed {options.seed}: {different} of {compared} differ", flush=True)
    return different == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=["check", "fixtures"])
    parser.add_argument("model")
    parser.add_argument("--pre", help="another pre-tokenizer than the file names (check needs the same in the file)")
    parser.add_argument("--float", action="store_true", help="Unigram of sentencepiece itself, which sums scores as floats")
    parser.add_argument("--brass", default="build/release/brass")
    parser.add_argument("--out")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=10)
    parser.add_argument("--one-mode", action="store_true", help="each text with or without normalization and control pieces, not all four")
    parser.add_argument("--parts", type=int, default=24, help="words and marks in a text, at most")
    parser.add_argument("-n", type=int, default=1000)
    options = parser.parse_args()
    vocabulary = Vocabulary(options.model, options.pre)
    pieces = vocabulary.model in ("llama", "t5")
    oracles = {"llama": sentence_piece, "t5": sentence_piece if options.float else unigram, "bert": bert}
    encode = oracles.get(vocabulary.model, hugging_face)(vocabulary)
    rng = random.Random(options.seed)
    # sentencepiece has no way to parse control pieces in text, nor a normalizer of its own here.
    special = [] if pieces and vocabulary.blank_in_front else vocabulary.special

    def make_text():
        text = random_text(rng, special, options.parts)
        # Hugging Face's Unigram takes the name of a byte in a text for the byte.
        return text.replace("<0x", "<0y") if vocabulary.model == "t5" else text

    modes = [(n, False) for n in ((False, True) if vocabulary.charsmap else (False,))] if pieces else [(n, s) for n in (False, True) for s in (False, True)]
    if options.mode == "check":
        sys.exit(0 if check(encode, make_text, options, modes) else 1)
    with open(options.out, "w", encoding="utf-8") as out:
        for i in range(options.n):
            text = make_text()
            normalize, parse_special = modes[i % len(modes)]
            line = {"t": text, "n": normalize, "s": parse_special, "ids": encode([text], normalize, parse_special)[0]}
            out.write(json.dumps(line, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
