#!/usr/bin/env python3
"""Makes tiny random embedding models in unusual shapes, with reference values.

For each variant OUT/NAME.gguf (float32, no tokenizer, written by llama.cpp's own converter from a Hugging Face
checkpoint) and OUT/NAME.json: some texts as ids, and for each its embedding in every pooling, not normalized (float32
of transformers, one forward pass a text, eager attention), and all rows of the shortest text but one. Nomic BERT with
experts is no class of transformers: its layers are written out here, from the published model's formulas. Needs what
tiny_variants.py needs.

Usage: tiny_embeddings.py --llama-cpp DIR --out DIR [NAME...]
"""
import argparse
import copy
import json
import math
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers

VOCAB = 144
LENGTHS = (1, 5, 64, 83)

# name: (class, pooling, settings)
VARIANTS = {
    "bert-a": ("Bert", "cls", dict(hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=72,
                                   max_position_embeddings=96, type_vocab_size=2)),
    "bert-b": ("Bert", "mean", dict(hidden_size=72, num_hidden_layers=3, num_attention_heads=3, intermediate_size=40,
                                    max_position_embeddings=83, type_vocab_size=1, layer_norm_eps=1e-3)),
    "roberta-a": ("Roberta", "mean", dict(hidden_size=40, num_hidden_layers=1, num_attention_heads=5,
                                          intermediate_size=56, max_position_embeddings=90, type_vocab_size=1)),
    "xlmroberta-a": ("XLMRoberta", "cls", dict(hidden_size=32, num_hidden_layers=3, num_attention_heads=2,
                                               intermediate_size=88, max_position_embeddings=98, type_vocab_size=1)),
    "distilbert-a": ("DistilBert", "mean", dict(dim=48, n_layers=2, n_heads=6, hidden_dim=64,
                                                max_position_embeddings=88)),
    "nomic-a": ("NomicBert", "mean", dict(hidden_size=48, num_hidden_layers=2, num_attention_heads=3,
                                          intermediate_size=56, type_vocab_size=2)),
    "nomic-b": ("NomicBert", "cls", dict(hidden_size=64, num_hidden_layers=3, num_attention_heads=8,
                                         intermediate_size=40, type_vocab_size=1, layer_norm_eps=1e-5)),
    "nomicmoe-a": ("NomicBertMoe", "mean", dict(hidden_size=48, num_hidden_layers=4, num_attention_heads=4,
                                                intermediate_size=24, type_vocab_size=1, experts=5, used=2)),
    "qwen3embedding-a": ("Qwen3", "lasttoken", dict(hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                                                    num_key_value_heads=2, head_dim=16, intermediate_size=56,
                                                    max_position_embeddings=128, tie_word_embeddings=True)),
    "qwen2embedding-a": ("Qwen2", "mean", dict(hidden_size=48, num_hidden_layers=3, num_attention_heads=6,
                                               num_key_value_heads=3, intermediate_size=56,
                                               max_position_embeddings=128, tie_word_embeddings=False)),
    "eurobert-a": ("EuroBert", "mean", dict(hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                                            num_key_value_heads=2, intermediate_size=56, classifier_pooling="mean",
                                            max_position_embeddings=128)),
}
ARCHITECTURE = {"Bert": "bert", "Roberta": "bert", "XLMRoberta": "bert", "DistilBert": "bert",
                "NomicBert": "nomic-bert", "NomicBertMoe": "nomic-bert-moe", "EuroBert": "eurobert"}
# Padding ids have a meaning of their own in positions: texts leave them out.
PAD = {"Roberta": 1, "XLMRoberta": 1}


class MoeLayer(torch.nn.Module):
    def __init__(self, width, heads, inner, experts, used):
        super().__init__()
        linear, matrix = torch.nn.Linear, lambda *shape: torch.nn.Parameter(torch.empty(*shape))
        self.heads, self.used, self.experts = heads, used, experts
        self.qkv, self.out = linear(width, 3 * width), linear(width, width)
        self.norm1, self.norm2 = torch.nn.LayerNorm(width, 1e-12), torch.nn.LayerNorm(width, 1e-12)
        if experts == 0:
            self.fc1, self.fc2 = linear(width, inner), linear(inner, width)
        else:
            self.router = linear(width, experts, bias=False)
            self.w1, self.w2 = matrix(experts, inner, width), matrix(experts, inner, width)

    def feed_forward(self, x):
        gelu = torch.nn.functional.gelu
        if self.experts == 0:
            return self.fc2(gelu(self.fc1(x)))
        weights, chosen = torch.softmax(self.router(x), -1).topk(self.used)
        rows = [sum(w * (gelu(row @ self.w1[e].T) @ self.w2[e]) for w, e in zip(ws, es))
                for row, ws, es in zip(x, weights, chosen)]
        return torch.stack(rows)

    def forward(self, x, cos, sin):
        n, width = x.shape
        q, k, v = self.qkv(x).view(n, 3, self.heads, width // self.heads).permute(1, 2, 0, 3)
        turn = lambda y: y * cos + torch.cat((-y[..., y.shape[-1] // 2:], y[..., :y.shape[-1] // 2]), -1) * sin
        q, k = turn(q), turn(k)
        seen = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(width // self.heads), -1) @ v
        x = self.norm1(x + self.out(seen.transpose(0, 1).reshape(n, width)))
        return self.norm2(x + self.feed_forward(x))


class NomicBertMoe(torch.nn.Module):
    def __init__(self, hidden_size, num_hidden_layers, num_attention_heads, intermediate_size, type_vocab_size,
                 experts, used):
        super().__init__()
        self.words = torch.nn.Embedding(VOCAB, hidden_size)
        self.types = torch.nn.Embedding(type_vocab_size, hidden_size)
        self.norm = torch.nn.LayerNorm(hidden_size, 1e-12)
        self.layers = torch.nn.ModuleList(
            MoeLayer(hidden_size, num_attention_heads, intermediate_size, experts if i % 2 == 1 else 0, used)
            for i in range(num_hidden_layers))
        self.base, self.head = 10000.0, hidden_size // num_attention_heads

    def hidden(self, ids):
        x = self.norm(self.words(ids) + self.types.weight[0])
        exponent = torch.arange(0, self.head, 2, dtype=torch.float64) / self.head
        angle = torch.arange(len(ids), dtype=torch.float64)[:, None] * self.base ** -exponent
        angle = torch.cat((angle, angle), -1)
        for layer in self.layers:
            x = layer(x, angle.cos().to(x.dtype), angle.sin().to(x.dtype))
        return x

    def checkpoint(self):
        """The published checkpoint's names."""
        found = {}
        for key, value in self.state_dict().items():
            for ours, theirs in (("words.", "embeddings.word_embeddings."), ("types.", "embeddings.token_type_embeddings."),
                                 ("layers.", "encoder.layers."), (".qkv.", ".attn.Wqkv."), (".out.", ".attn.out_proj."),
                                 (".fc1.", ".mlp.fc1."), (".fc2.", ".mlp.fc2."), (".router.", ".mlp.router.layer."),
                                 (".w1", ".mlp.experts.mlp.w1"), (".w2", ".mlp.experts.mlp.w2")):
                key = key.replace(ours, theirs)
            key = key.replace("norm.", "emb_ln.") if key.startswith("norm.") else key
            found[key] = value.flatten(0, 1) if value.ndim == 3 else value
        return found


def make_model(name):
    family, _, settings = copy.deepcopy(VARIANTS[name])
    torch.manual_seed(sum(map(ord, name)) * 7919)
    if family == "NomicBertMoe":
        model = NomicBertMoe(**settings)
    else:
        if family != "NomicBert":  # whose configuration insists on one
            settings["pad_token_id"] = PAD.get(family)
        config = getattr(transformers, family + "Config")(
            vocab_size=VOCAB, attn_implementation="eager", bos_token_id=None, eos_token_id=None, **settings)
        kind = "ForCausalLM" if family in ("Qwen2", "Qwen3") else "Model"
        model = getattr(transformers, family + kind)(config)
    # Every parameter matters: matrices keep the scale of what passes through, norms and biases are not trivial.
    with torch.no_grad():
        for key, p in model.named_parameters():
            if p.ndim >= 2:
                p.normal_(0, 1.3 / math.sqrt(p.shape[-1]))
            elif key.endswith("bias"):
                p.normal_(0, 0.3)
            else:
                p.normal_(1, 0.2)
    return model.eval()


def hidden(model, ids):
    with torch.no_grad():
        if isinstance(model, NomicBertMoe):
            return model.hidden(torch.tensor(ids))
        trunk = model.model if hasattr(model, "lm_head") else model
        return trunk(torch.tensor([ids])).last_hidden_state[0]


def reference(name, model):
    family, pooling, _ = VARIANTS[name]
    rng = np.random.default_rng(sum(map(ord, name)))
    allowed = [i for i in range(VOCAB) if i != PAD.get(family)]
    texts = [[int(i) for i in rng.choice(allowed, n)] for n in LENGTHS]
    rows = [hidden(model, ids) for ids in texts]
    exact_model = copy.deepcopy(model).double()
    worst = max(float((hidden(exact_model, ids) - x.double()).abs().max()) for ids, x in zip(texts, rows))
    deviation = float(rows[-1].std())
    nine = lambda values: [float("%.9g" % v) for v in values]
    return dict(
        arch=ARCHITECTURE.get(family, family.lower()), transformers_class=type(model).__name__,
        transformers_version=transformers.__version__, pooling={"lasttoken": "last"}.get(pooling, pooling), texts=texts,
        mean=[nine(x.mean(0).tolist()) for x in rows], cls=[nine(x[0].tolist()) for x in rows],
        last=[nine(x[-1].tolist()) for x in rows], rows=[nine(row) for row in rows[1].tolist()],
        std=float("%.7g" % deviation), float64_max_rel=float("%.3g" % (worst / deviation)))


NOMIC = dict(architectures=["NomicBertModel"], max_trained_positions=2048, causal=False, prenorm=False,
             rotary_emb_fraction=1.0, rotary_emb_interleaved=False, rotary_emb_scale_base=None)


def published_nomic(state):
    """transformers' names of Nomic BERT as those of the published checkpoints."""
    found, parts = {}, {}
    for key, value in state.items():
        for theirs, published in (("embeddings.LayerNorm", "emb_ln"), ("self_attn.o_proj", "attn.out_proj"),
                                  ("up_proj", "fc11"), ("gate_proj", "fc12"), ("down_proj", "fc2"),
                                  ("post_attention_layernorm", "norm1"), ("post_mlp_layernorm", "norm2")):
            key = key.replace(theirs, published)
        key = "encoder." + key if key.startswith("layers.") else key
        if "self_attn" in key:
            parts.setdefault(key[:key.index("self_attn")] + "attn.Wqkv.weight", {})[key[-13]] = value
        elif not key.startswith("pooler."):
            found[key] = value
    for key, qkv in parts.items():
        found[key] = torch.cat([qkv[letter] for letter in "qkv"])
    return found


def save(name, model, folder):
    """The checkpoint as its publishers write it."""
    from safetensors.torch import save_file

    family, _, s = VARIANTS[name]
    if family.startswith("NomicBert"):
        state = model.checkpoint() if family == "NomicBertMoe" else published_nomic(model.state_dict())
        save_file({k: v.contiguous() for k, v in state.items()}, folder / "model.safetensors")
    if family == "NomicBertMoe":
        config = dict(NOMIC, n_positions=2048, activation_function="gelu", qkv_proj_bias=True, mlp_fc1_bias=True,
                      mlp_fc2_bias=True, moe_every_n_layers=2, num_experts=s["experts"], moe_top_k=s["used"],
                      rotary_emb_base=model.base, layer_norm_epsilon=1e-12)
    elif family != "NomicBert":
        model.save_pretrained(folder)
        return
    else:
        config = dict(NOMIC, n_positions=8192, activation_function="swiglu", qkv_proj_bias=False, mlp_fc1_bias=False,
                      mlp_fc2_bias=False, rotary_emb_base=model.config.rope_parameters["rope_theta"],
                      layer_norm_epsilon=model.config.layer_norm_eps)
    config.update(vocab_size=VOCAB, n_embd=s["hidden_size"], n_layer=s["num_hidden_layers"],
                  n_head=s["num_attention_heads"], n_inner=s["intermediate_size"], type_vocab_size=s["type_vocab_size"])
    (folder / "config.json").write_text(json.dumps(config))


def convert(name, model, llama_cpp, out):
    """Through the converter's classes, since its command line insists on a tokenizer."""
    sys.path[:0] = [str(llama_cpp / "gguf-py"), str(llama_cpp)]
    import gguf
    from conversion import ModelBase, get_model_class

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / ("tiny-" + name)
        folder.mkdir()
        save(name, model, folder)
        words = {"model": {"type": "WordPiece", "vocab": {str(i): i for i in range(VOCAB)}}, "added_tokens": []}
        (folder / "tokenizer.json").write_text(json.dumps(words))
        (folder / "modules.json").write_text(
            json.dumps([{"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]))
        (folder / "1_Pooling").mkdir()
        (folder / "1_Pooling" / "config.json").write_text(
            json.dumps({f"pooling_mode_{mode}{'' if mode == 'lasttoken' else suffix}": mode == VARIANTS[name][1]
                        for mode, suffix in (("mean", "_tokens"), ("cls", "_token"), ("lasttoken", ""))}))
        base = get_model_class(ModelBase.load_hparams(folder, False)["architectures"][0])

        class NoVocabulary(base):
            model_arch = base.model_arch

            def set_vocab(self):
                self.gguf_writer.add_tokenizer_model("none")
                self.gguf_writer.add_token_type_count(self.hparams.get("type_vocab_size", 1))
                key = gguf.Keys.LLM.VOCAB_SIZE.format(arch=self.gguf_writer.arch)
                if not any(key in shard for shard in self.gguf_writer.kv_data):
                    self.gguf_writer.add_vocab_size(VOCAB)

        with torch.inference_mode():
            NoVocabulary(folder, gguf.LlamaFileType.ALL_F32, out / (name + ".gguf")).write()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--llama-cpp", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("names", nargs="*", default=list(VARIANTS))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for name in args.names or VARIANTS:
        model = make_model(name)
        result = reference(name, model)
        convert(name, model, args.llama_cpp.resolve(), args.out)
        (args.out / (name + ".json")).write_text(json.dumps(result) + "\n")
        size = os.path.getsize(args.out / (name + ".gguf")) // 1024
        print(f"{name}: {size} KiB, float64 {result['float64_max_rel']}", flush=True)


if __name__ == "__main__":
    main()
