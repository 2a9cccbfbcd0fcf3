#!/usr/bin/env python3
"""Writes what `sentencepiece` makes of characters that a vocabulary without byte pieces does not have.

    pip install sentencepiece
    unknown_fixtures.py --out tests/text/fixtures/tokenizer_unknown.json

Small BPE vocabularies are trained on ASCII text, so every other character is unknown to them; one has user-defined pieces
as well. Each is written with its pieces and {"t": text, "ids": [...]}, without BOS and EOS.
"""

import argparse
import io
import json
import random

import sentencepiece

SENTENCES = ["the cat sat on the mat", "a hat that the rat had", "hot tea at ten to one", "not a toad on the road"]
KNOWN = ["the ", "cat", " sat", "on", "hat", " ", "  ", "tea ", "t", "e"]
UNKNOWN = ["é", "你", "好", "🦙", "\u0301", "Z", "7", "\n", "\u00a0", "\ufffd", "привет", "日本語", "ﬁ"]
MARKED = ["<a>", "<é>", "é"]


def train(**more):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES * 20), model_writer=model, model_type="bpe", vocab_size=40, minloglevel=2,
        byte_fallback=False, normalization_rule_name="identity", remove_extra_whitespaces=False,
        hard_vocab_limit=False, character_coverage=1.0, **more)
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def kind(processor, i):
    if processor.is_unknown(i):
        return 2
    return 3 if processor.is_control(i) else 1


def random_text(rng):
    parts = KNOWN + UNKNOWN * 2 + MARKED
    return "".join(rng.choice(parts) for _ in range(rng.randint(1, 9)))


def vocabulary(processor, user_defined, dummy_prefix, texts):
    ids = range(processor.get_piece_size())
    pieces = [processor.id_to_piece(i) for i in ids]
    return {
        "tokens": pieces,
        "scores": [processor.get_score(i) for i in ids],
        "kinds": [4 if piece in user_defined else kind(processor, i) for i, piece in zip(ids, pieces)],
        "unk": processor.unk_id(),
        "bos": processor.bos_id(),
        "eos": processor.eos_id(),
        "space_in_front": dummy_prefix,
        "cases": [{"t": text, "ids": processor.encode(text)} for text in texts],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("-n", type=int, default=60)
    options = parser.parse_args()
    rng = random.Random(1)
    # Longer than a piece can be, in one stretch and broken by known characters.
    long = ["é" * 300, "éa" * 100, "你" * 70 + "the" + "好" * 70]
    vocabularies = []
    # The library puts its blank before a user-defined piece too, the tokenizers of chat models only before text.
    for user_defined, dummy_prefix in (([], True), ([], False), (MARKED[:2], False)):
        processor = train(user_defined_symbols=user_defined, add_dummy_prefix=dummy_prefix)
        texts = [random_text(rng) for _ in range(options.n)] + long
        vocabularies.append(vocabulary(processor, user_defined, dummy_prefix, texts))
    with open(options.out, "w", encoding="utf-8") as out:
        out.write("[\n" + ",\n".join(json.dumps(v, separators=(",", ":")) for v in vocabularies) + "\n]\n")


if __name__ == "__main__":
    main()
