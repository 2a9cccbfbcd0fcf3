#!/usr/bin/env python3
"""Makes tiny random models of the supported architectures in unusual shapes, with reference values.

For each variant OUT/NAME.gguf (float32, no tokenizer, written by llama.cpp's own converter from a Hugging Face
checkpoint) and OUT/NAME.json (float32 reference of transformers: one forward pass over the whole sequence, eager
attention, no cache). Needs torch (CPU), transformers, gguf, and a source tree of llama.cpp with its converter (one
is inside the source package of llama-cpp-python). With --peer, a program that prints llama.cpp's logits
(peer_logits.cpp beside this file says how to build it) is run over each file for a second opinion.

Usage: tiny_variants.py --llama-cpp DIR --out DIR [--peer PROGRAM] [NAME...]
"""
import argparse
import copy
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers

VOCAB, TOKENS, GREEDY = 320, 80, 16


def rope(kind, **more):
    return {"rope_type": kind, "rope_theta": 10000.0, **more}


def gemma_rope(full=None):
    return {"full_attention": {"rope_type": "default", "rope_theta": 1e6, **(full or {})},
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}


# name: (family, hidden, layers, query heads, kv heads, head size, ffn, tied, further configuration)
VARIANTS = {
    "llama-b": ("Llama", 96, 3, 6, 1, 32, 72, False, dict(rope_parameters=rope("default"))),
    "llama-c": ("Llama", 96, 5, 8, 4, 8, 40, True, dict(rope_parameters=rope("default", rope_theta=5e5))),
    "llama-d": ("Llama", 64, 1, 2, 2, 64, 128, True, dict(rope_parameters=rope("default"), rms_norm_eps=1e-3)),
    "llamabias-a": ("Llama", 64, 2, 4, 2, 16, 56, False,
                    dict(rope_parameters=rope("default"), attention_bias=True)),
    "llamalinear-a": ("Llama", 64, 3, 8, 2, 8, 64, False, dict(rope_parameters=rope("linear", factor=4.0))),
    "llamayarn-a": ("Llama", 64, 2, 4, 1, 32, 56, True,
                    dict(max_position_embeddings=256,
                         rope_parameters=rope("yarn", factor=8.0, original_max_position_embeddings=32))),
    "llamayarn-b": ("Llama", 64, 3, 4, 4, 32, 56, False,
                    dict(max_position_embeddings=320,
                         rope_parameters=rope("yarn", factor=2.5, original_max_position_embeddings=128,
                                              beta_fast=4.0, beta_slow=2.0))),
    "llamayarn-c": ("Llama", 64, 2, 4, 4, 16, 56, False,
                    dict(max_position_embeddings=128,
                         rope_parameters=rope("yarn", factor=2.5, original_max_position_embeddings=48,
                                              attention_factor=1.3))),
    "llama3rope-b": ("Llama", 48, 3, 6, 2, 32, 80, False,
                     dict(max_position_embeddings=512,
                          rope_parameters=rope("llama3", rope_theta=5e5, factor=8.0, low_freq_factor=1.0,
                                               high_freq_factor=4.0, original_max_position_embeddings=64))),
    "qwen2-b": ("Qwen2", 64, 3, 8, 4, 8, 72, False, dict(rope_parameters=rope("default", rope_theta=1e6))),
    "qwen2-c": ("Qwen2", 96, 2, 3, 3, 32, 56, True, dict(rope_parameters=rope("default", rope_theta=1e6))),
    "qwen2yarn-a": ("Qwen2", 96, 1, 6, 1, 16, 56, False,
                    dict(max_position_embeddings=256,
                         rope_parameters=rope("yarn", rope_theta=1e6, factor=4.0,
                                              original_max_position_embeddings=64))),
    "qwen3-b": ("Qwen3", 96, 3, 6, 1, 32, 72, False, dict(rope_parameters=rope("default", rope_theta=1e6))),
    "qwen3-c": ("Qwen3", 32, 5, 8, 4, 8, 104, True, dict(rope_parameters=rope("default", rope_theta=1e6))),
    "qwen3-d": ("Qwen3", 64, 1, 4, 4, 24, 56, False, dict(rope_parameters=rope("default", rope_theta=1e6))),
    "qwen3yarn-a": ("Qwen3", 64, 2, 4, 2, 16, 56, True,
                    dict(max_position_embeddings=256,
                         rope_parameters=rope("yarn", rope_theta=1e6, factor=4.0,
                                              original_max_position_embeddings=64))),
    "gemma3-b": ("Gemma3", 48, 7, 4, 2, 32, 72, True,
                 dict(sliding_window=8, query_pre_attn_scalar=32, rope_parameters=gemma_rope())),
    "gemma3-c": ("Gemma3", 96, 13, 6, 1, 8, 40, True,
                 dict(sliding_window=5, query_pre_attn_scalar=8, rope_parameters=gemma_rope())),
    "gemma3linear-a": ("Gemma3", 48, 6, 2, 2, 32, 56, True,
                       dict(sliding_window=24, query_pre_attn_scalar=32,
                            rope_parameters=gemma_rope({"rope_type": "linear", "factor": 8.0}))),
    "gemma3-d": ("Gemma3", 64, 3, 8, 4, 16, 56, True,
                 dict(sliding_window=64, query_pre_attn_scalar=16, rope_parameters=gemma_rope())),
    "gemma3untied-a": ("Gemma3", 48, 6, 4, 1, 16, 56, False,
                       dict(sliding_window=16, query_pre_attn_scalar=16, rope_parameters=gemma_rope())),
    "stablelm-a": ("StableLm", 64, 2, 4, 2, 16, 56, False,
                   dict(use_qkv_bias=True, rope_parameters=rope("default", partial_rotary_factor=0.25))),
    "stablelm-b": ("StableLm", 96, 3, 6, 3, 16, 40, True,
                   dict(qk_layernorm=True, use_parallel_residual=True,
                        rope_parameters=rope("default", partial_rotary_factor=0.5))),
    "falcon-a": ("Falcon", 64, 2, 4, 1, 16, 256, True,
                 dict(multi_query=True, new_decoder_architecture=False, alibi=False, bias=False)),
    "falcon-b": ("Falcon", 48, 3, 6, 2, 8, 192, False,
                 dict(new_decoder_architecture=True, num_ln_in_parallel_attn=2, alibi=False, bias=False)),
    "nemotron-a": ("Nemotron", 64, 3, 4, 2, 16, 56, False,
                   dict(norm_eps=1e-5, hidden_act="relu2", partial_rotary_factor=0.5,
                        rope_parameters=rope("default", partial_rotary_factor=0.5))),
    "exaone4window-a": ("Exaone4", 48, 5, 4, 1, 16, 56, False,
                        dict(sliding_window=16, sliding_window_pattern=4, rope_parameters=rope("default"))),
    "olmo3yarn-a": ("Olmo3", 64, 5, 4, 2, 16, 56, False,
                    dict(sliding_window=16, max_position_embeddings=256,
                         rope_parameters=rope("yarn", factor=4.0, original_max_position_embeddings=64))),
    "phi3long-a": ("Phi3", 64, 2, 4, 2, 16, 56, True,
                   dict(max_position_embeddings=128, original_max_position_embeddings=32, partial_rotary_factor=0.75,
                        rope_parameters=rope("longrope", partial_rotary_factor=0.75,
                                             original_max_position_embeddings=32,
                                             short_factor=[1.0 + 0.05 * i for i in range(6)],
                                             long_factor=[1.0 + 1.1 * i for i in range(6)]))),
    "phi3window-a": ("Phi3", 48, 3, 4, 4, 12, 56, False,
                     dict(sliding_window=16, rope_parameters=rope("default"))),
    "gemma2-b": ("Gemma2", 48, 5, 6, 3, 24, 56, True,
                 dict(sliding_window=9, query_pre_attn_scalar=24, attn_logit_softcapping=4.0,
                      final_logit_softcapping=3.0, rope_parameters=rope("default"))),
    "cohere2-b": ("Cohere2", 64, 9, 4, 1, 16, 40, True,
                  dict(sliding_window=11, logit_scale=0.3, rotary_pct=1.0, rope_parameters=rope("default"))),
    "smollm3-b": ("SmolLM3", 64, 9, 8, 2, 8, 40, False, dict(rope_parameters=rope("default", rope_theta=5e6))),
    "glm4-b": ("Glm4", 64, 3, 8, 2, 12, 48, True,
               dict(attention_bias=True, rope_parameters=rope("default", partial_rotary_factor=0.5))),
    "minimaxm2-a": ("MiniMaxM2", 48, 2, 4, 2, 16, 16, False,
                    dict(num_local_experts=8, num_experts_per_tok=2, rotary_dim=8, scoring_func="sigmoid",
                         rope_parameters=rope("default", partial_rotary_factor=0.5))),
    # The converter writes intermediate_size / kv heads as the width of the shared experts.
    "ernie45moe-a": ("Ernie4_5_Moe", 48, 3, 4, 2, 16, 40, True,
                     dict(moe_num_experts=6, moe_k=3, moe_num_shared_experts=1, moe_intermediate_size=20,
                          rope_parameters=rope("default"))),
    "glm4moe-b": ("Glm4Moe", 48, 3, 4, 1, 16, 56, False,
                  dict(use_qk_norm=True, attention_bias=True, n_routed_experts=12, num_experts_per_tok=3,
                       n_shared_experts=2, moe_intermediate_size=12, first_k_dense_replace=1, n_group=4,
                       topk_group=2, routed_scaling_factor=1.7, norm_topk_prob=True,
                       rope_parameters=rope("default", partial_rotary_factor=0.5))),
    "granitemoeshared-a": ("GraniteMoeShared", 48, 2, 4, 2, 12, 20, False,
                           dict(num_local_experts=5, num_experts_per_tok=3, shared_intermediate_size=24,
                                embedding_multiplier=3.0, residual_multiplier=0.7, attention_multiplier=0.3,
                                logits_scaling=2.0, rope_parameters=rope("default"))),
}
# GGUF's name of the architecture, where it is not the family's in small letters.
ARCHITECTURE = {"Olmo3": "olmo2", "MiniMaxM2": "minimax-m2", "Ernie4_5_Moe": "ernie4_5-moe",
                "GraniteMoeShared": "granitemoe"}
# Families whose norm weights are stored as distances from 1.
FROM_ONE = {"Gemma2", "Gemma3", "Nemotron"}


# llama.cpp's reader takes the two limits and the attention factor of yarn as fixed, whatever the file says.
LLAMA_CPP_DIFFERS = {"llamayarn-b": "ignores yarn_beta_fast and yarn_beta_slow",
                     "llamayarn-c": "ignores yarn_attn_factor"}


def make_model(name):
    family, hidden, layers, heads, kv_heads, head, ffn, tied, more = copy.deepcopy(VARIANTS[name])
    config_class = "Gemma3TextConfig" if family == "Gemma3" else family + "Config"
    settings = dict(vocab_size=VOCAB, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
                    num_key_value_heads=kv_heads, head_dim=head, intermediate_size=ffn, tie_word_embeddings=tied,
                    max_position_embeddings=512, attn_implementation="eager", bos_token_id=None, eos_token_id=None,
                    pad_token_id=None)
    if family == "Falcon":  # other names, and a head's size that follows from the rest
        settings.update(num_kv_heads=settings.pop("num_key_value_heads"),
                        ffn_hidden_size=settings.pop("intermediate_size"))
        del settings["head_dim"]
    config = getattr(transformers, config_class)(**{**settings, **more})
    config._experts_implementation = "eager"  # the others have no float64
    torch.manual_seed(sum(map(ord, name)) * 7919)
    model = getattr(transformers, family + "ForCausalLM")(config).eval()
    # Every parameter matters: matrices keep the scale of what passes through, norms and biases are not trivial.
    with torch.no_grad():
        of_selection = [(key, b) for key, b in model.named_buffers() if "correction_bias" in key]
        for key, p in [*model.named_parameters(), *of_selection]:
            if "correction_bias" in key:  # of the selection of experts: of the size of a score
                p.normal_(0, 0.1)
            elif p.ndim >= 2:
                p.normal_(0, 1.3 / math.sqrt(p.shape[-1]))
            elif key.endswith("bias"):
                p.normal_(0, 0.3)
            else:
                p.normal_(0 if family in FROM_ONE else 1, 0.2)
    return model


def forward(model, ids):
    with torch.no_grad():
        return model(torch.tensor([ids]), use_cache=False).logits[0]


def reference(name, model):
    rng = np.random.default_rng(sum(map(ord, name)))
    ids = [int(i) for i in rng.integers(0, VOCAB, TOKENS)]
    logits = forward(model, ids)
    exact = forward(copy.deepcopy(model).double(), ids)
    deviation = float(logits[-1].std())
    nll = -torch.log_softmax(logits.double(), -1)[torch.arange(TOKENS - 1), torch.tensor(ids[1:])]
    text, greedy, gaps = list(ids), [], []
    for _ in range(GREEDY):
        top = forward(model, text)[-1].topk(2)
        greedy.append(int(top.indices[0]))
        gaps.append(float(top.values[0] - top.values[1]))
        text.append(greedy[-1])
    top = logits[-1].topk(10)
    nine = lambda values: [float("%.9g" % v) for v in values]
    return logits, dict(
        arch=ARCHITECTURE.get(VARIANTS[name][0], VARIANTS[name][0].lower()), transformers_class=type(model).__name__,
        transformers_version=transformers.__version__, ids=ids,
        top10_last=[[int(i), float("%.9g" % v)] for i, v in zip(top.indices, top.values)],
        logits_last=nine(logits[-1].tolist()), logits_first=nine(logits[0].tolist()), nll=nine(nll.tolist()),
        greedy16=greedy, greedy_gap=[float("%.7g" % g) for g in gaps], logit_std_last=float("%.7g" % deviation),
        float64_max_rel=float("%.3g" % (float((logits.double() - exact).abs().max()) / deviation)))


def convert(name, model, llama_cpp, out):
    """Through the converter's classes, since its command line insists on a tokenizer."""
    sys.path[:0] = [str(llama_cpp / "gguf-py"), str(llama_cpp)]
    import gguf
    from conversion import ModelBase, get_model_class

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / ("tiny-" + name)
        model.save_pretrained(folder)
        # Where a converter counts the vocabulary, this is all that it looks at.
        words = {"model": {"vocab": {str(i): i for i in range(VOCAB)}}, "added_tokens": []}
        (folder / "tokenizer.json").write_text(json.dumps(words))
        base = get_model_class(ModelBase.load_hparams(folder, False)["architectures"][0])

        class NoVocabulary(base):
            model_arch = base.model_arch

            def set_vocab(self):
                self.gguf_writer.add_tokenizer_model("none")
                key = gguf.Keys.LLM.VOCAB_SIZE.format(arch=self.gguf_writer.arch)
                if not any(key in shard for shard in self.gguf_writer.kv_data):
                    self.gguf_writer.add_vocab_size(VOCAB)

            def modify_tensors(self, data, name, bid):
                # StableLM's class returns its last tensors instead of yielding them, which loses them.
                rest = yield from super().modify_tensors(data, name, bid)
                if rest is not None:
                    yield from rest

        with torch.inference_mode():
            NoVocabulary(folder, gguf.LlamaFileType.ALL_F32, out / (name + ".gguf")).write()


def second_opinion(name, peer, path, logits, result):
    """llama.cpp's logits at all positions, in one batch and in batches of 7, in units of the reference's spread."""
    worst_last = worst = 0.0
    for batch in (TOKENS, 7):
        raw = subprocess.run([peer, path, str(batch)] + [str(i) for i in result["ids"]], check=True,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        theirs = torch.from_numpy(np.frombuffer(raw, dtype=np.float32).reshape(TOKENS, VOCAB).copy())
        difference = (theirs - logits).abs() / result["logit_std_last"]
        worst, worst_last = max(worst, float(difference.max())), max(worst_last, float(difference[-1].max()))
    result.update(llamacpp_agrees=worst_last < 5e-3, llamacpp_max_rel=float("%.3g" % worst_last),
                  llamacpp_max_rel_all_positions=float("%.3g" % worst))
    if name in LLAMA_CPP_DIFFERS:
        result["llamacpp_reason"] = LLAMA_CPP_DIFFERS[name]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--llama-cpp", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--peer")
    parser.add_argument("names", nargs="*", default=list(VARIANTS))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for name in args.names or VARIANTS:
        model = make_model(name)
        logits, result = reference(name, model)
        convert(name, model, args.llama_cpp.resolve(), args.out)
        path = args.out / (name + ".gguf")
        if args.peer:
            second_opinion(name, args.peer, path, logits, result)
        (args.out / (name + ".json")).write_text(json.dumps(result) + "\n")
        print(f"{name}: {os.path.getsize(path) // 1024} KiB, float64 {result['float64_max_rel']}, "
              f"smallest greedy gap {min(result['greedy_gap']):.3g}, "
              f"llama.cpp {result.get('llamacpp_max_rel', '-')} / "
              f"{result.get('llamacpp_max_rel_all_positions', '-')}", flush=True)


if __name__ == "__main__":
    main()
