#!/usr/bin/env python3
"""Vocabulary files (GGUF without tensors) from the originals' own files, as llama.cpp's converter writes them, and small
vocabularies trained on the spot.

    pip install gguf tokenizers sentencepiece protobuf
    vocab_gguf.py tokenizer.json OUT.gguf      WordPiece
    vocab_gguf.py spiece.model OUT.gguf        SentencePiece, Unigram
    vocab_gguf.py train FOLDER                 several small ones of both kinds: FOLDER/small-*.gguf (tests/text/fixtures has them)
"""

import argparse
import io
import json
import pathlib
import random
import tempfile

import gguf

from tokenizer_oracle import BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED, random_text

BLANK = "▁"


def write(path, model, tokens, kinds, scores=None, **fields):
    """fields: names of tokenizer.ggml.* with their values."""
    writer = gguf.GGUFWriter(path, "bert")
    writer.add_tokenizer_model(model)
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    if scores:
        writer.add_token_scores(scores)
    for name, value in fields.items():
        key = "tokenizer.ggml." + name
        if isinstance(value, bool):
            writer.add_bool(key, value)
        elif isinstance(value, bytes):
            writer.add_precompiled_charsmap(value)
        else:
            writer.add_uint32(key, value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def word_piece(path, vocab, special, lowercase, strip_accents):
    """vocab: id of each token in BERT's spelling; special: texts of control tokens."""
    tokens, kinds = [], []
    for token in sorted(vocab, key=vocab.get):
        control = token in special
        tokens.append(token if control else token[2:] if token.startswith("##") else BLANK + token)
        kinds.append(CONTROL if control else NORMAL)
    named = {"[CLS]": "bos_token_id", "[SEP]": "seperator_token_id", "[UNK]": "unknown_token_id",
             "[PAD]": "padding_token_id", "[MASK]": "mask_token_id"}
    ids = {name: vocab[token] for token, name in named.items() if token in vocab}
    write(path, "bert", tokens, kinds, **ids, **{"normalizer.lowercase": lowercase, "normalizer.strip_accents": strip_accents})


def word_piece_of_json(source, path):
    data = json.loads(pathlib.Path(source).read_text(encoding="utf-8"))
    normalizer = data["normalizer"] or {}
    lowercase = bool(normalizer.get("lowercase", True))
    accents = normalizer.get("strip_accents")
    special = {token["content"] for token in data["added_tokens"] if token["special"]}
    word_piece(path, data["model"]["vocab"], special, lowercase, lowercase if accents is None else bool(accents))


def unigram_of_model(blob, path):
    from sentencepiece import sentencepiece_model_pb2 as pb2

    proto = pb2.ModelProto()
    proto.ParseFromString(blob)
    types = pb2.ModelProto.SentencePiece
    kinds = {types.NORMAL: NORMAL, types.UNKNOWN: UNKNOWN, types.CONTROL: CONTROL, types.USER_DEFINED: USER_DEFINED,
             types.UNUSED: UNUSED, types.BYTE: BYTE}
    pieces = proto.pieces
    fields = {"add_space_prefix": proto.normalizer_spec.add_dummy_prefix,
              "remove_extra_whitespaces": proto.normalizer_spec.remove_extra_whitespaces}
    fields["unknown_token_id"] = next(i for i, p in enumerate(pieces) if p.type == types.UNKNOWN)
    if proto.normalizer_spec.precompiled_charsmap:
        fields["precompiled_charsmap"] = proto.normalizer_spec.precompiled_charsmap
    write(path, "t5", [p.piece for p in pieces], [kinds[p.type] for p in pieces], [p.score for p in pieces], **fields)


def training_texts(count):
    rng = random.Random(5)
    texts = [random_text(rng, []) for _ in range(count)]
    # The mark itself is left out: files cannot tell the word U+2581 from a piece that goes on with two of them.
    return [text.replace("\n", " ").replace("\r", " ").replace(BLANK, "") for text in texts]


# A table of replacements that is small, with what large ones have: several characters to one and one to several, keys that
# begin like others, blanks, and characters that vanish.
def replacement_rules():
    rules = {chr(0xFF01 + i): chr(0x21 + i) for i in range(94)}
    rules.update({"\t": " ", "\n": " ", "\r": " ", "\u3000": " ", "\u00a0": " ", "\u2003": " ", "\u200b": "", "\u00ad": "",
                  "ﬁ": "fi", "…": "...", "½": " 1/2", "№": "no. ", "ﷺ": "  x  ", "Å": "å", "e\u0301": "é", "a\u0323\u0302": "ậ",
                  "a\u0323": "ạ", "か\u3099": "が", "ｶﾞ": "ガ", "ｶ": "カ", "\u1100\u1161": "가", "\u1100\u1161\u11a8": "각"})
    return "".join(" ".join(f"{ord(c):X}" for c in source) + "\t" + " ".join(f"{ord(c):X}" for c in target) + "\n"
                   for source, target in rules.items())


def train(folder):
    import sentencepiece
    import tokenizers

    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    texts = training_texts(4000)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    for name, lowercase, accents in (("uncased", True, True), ("cased", False, False), ("accents", True, False)):
        made = tokenizers.BertWordPieceTokenizer(lowercase=lowercase, strip_accents=accents)
        made.train_from_iterator(texts, vocab_size=900, min_frequency=1, limit_alphabet=400, special_tokens=special)
        word_piece(str(folder / f"small-bert-{name}.gguf"), made.get_vocab(), set(special), lowercase, accents)
    common = dict(model_type="unigram", vocab_size=1500, character_coverage=0.98, hard_vocab_limit=False,
                  minloglevel=2, num_threads=1)
    with tempfile.NamedTemporaryFile("w", suffix=".tsv", encoding="utf-8", delete=False) as rules:
        rules.write(replacement_rules())
    kinds = {"table": dict(normalization_rule_tsv=rules.name),
             "bytes": dict(normalization_rule_name="identity", byte_fallback=True, add_dummy_prefix=False,
                           remove_extra_whitespaces=False, split_by_whitespace=False),
             "plain": dict(normalization_rule_name="identity")}
    for name, options in kinds.items():
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(texts), model_writer=model, **common, **options)
        unigram_of_model(model.getvalue(), str(folder / f"small-t5-{name}.gguf"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("out")
    options = parser.parse_args()
    if options.source == "train":
        train(options.out)
    elif options.source.endswith(".json"):
        word_piece_of_json(options.source, options.out)
    else:
        unigram_of_model(pathlib.Path(options.source).read_bytes(), options.out)


if __name__ == "__main__":
    main()
