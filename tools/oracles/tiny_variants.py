#!/usr/bin/env python3
"""Makes tiny random models of the supported architectures in unusual shapes, with reference values.

For each variant OUT/NAME.gguf (float32, no tokenizer, written by llama.cpp's own converter from a Hugging Face
checkpoint) and OUT/NAME.json (reference of transformers in float64: one forward pass over the whole sequence, eager
attention, no cache; float64_max_rel says how far its float32 is from that). Needs torch (CPU), transformers, gguf, and a source tree of llama.cpp with its converter (one
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


def mrope(part):
    return rope("default", partial_rotary_factor=part, mrope_interleaved=True, mrope_section=[2, 1, 1])


def pattern(letters):
    return [{"s": "sliding_attention", "f": "full_attention"}[c] for c in letters]


def gemma4_rope(part):
    return {"sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
            "full_attention": {"rope_type": "proportional", "rope_theta": 1e6, "partial_rotary_factor": part}}


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
    "qwen35-b": ("Qwen3_5Text", 96, 7, 6, 3, 32, 72, True,
                 dict(linear_num_key_heads=2, linear_num_value_heads=6, linear_key_head_dim=16,
                      linear_value_head_dim=16, full_attention_interval=3, rope_parameters=mrope(0.25))),
    "qwen35-c": ("Qwen3_5Text", 48, 3, 4, 1, 64, 56, False,
                 dict(linear_num_key_heads=4, linear_num_value_heads=8, linear_key_head_dim=8,
                      linear_value_head_dim=8, full_attention_interval=2, linear_conv_kernel_dim=3,
                      rope_parameters=mrope(0.5))),
    "qwen35moe-b": ("Qwen3_5MoeText", 48, 5, 6, 2, 32, 0, True,
                    dict(linear_num_key_heads=3, linear_num_value_heads=6, linear_key_head_dim=16,
                         linear_value_head_dim=16, full_attention_interval=5, num_experts=6, num_experts_per_tok=3,
                         moe_intermediate_size=20, shared_expert_intermediate_size=24, rope_parameters=mrope(0.25))),
    "qwen3next-b": ("Qwen3Next", 64, 5, 4, 1, 32, 56, True,
                    dict(linear_num_key_heads=2, linear_num_value_heads=8, linear_key_head_dim=16,
                         linear_value_head_dim=16, full_attention_interval=2, num_experts=5, num_experts_per_tok=2,
                         moe_intermediate_size=12, shared_expert_intermediate_size=28,
                         rope_parameters=rope("default", partial_rotary_factor=0.5))),
    "qwen3next-c": ("Qwen3Next", 48, 4, 2, 2, 16, 40, False,
                    dict(linear_num_key_heads=3, linear_num_value_heads=3, linear_key_head_dim=8,
                         linear_value_head_dim=8, full_attention_interval=3, num_experts=8, num_experts_per_tok=2,
                         moe_intermediate_size=12, shared_expert_intermediate_size=12,
                         rope_parameters=rope("default", partial_rotary_factor=0.25))),
    "lfm2-b": ("Lfm2", 48, 5, 6, 2, 8, 96, False,
               dict(layer_types=["conv", "full_attention", "conv", "full_attention", "conv"], conv_L_cache=4,
                    block_multiple_of=16, block_auto_adjust_ff_dim=True, rope_parameters=rope("default"))),
    "lfm2moe-b": ("Lfm2Moe", 64, 6, 8, 2, 8, 40, True,
                  dict(layer_types=["full_attention", "conv", "conv", "full_attention", "conv", "full_attention"],
                       conv_L_cache=3, num_dense_layers=2, num_experts=6, num_experts_per_tok=3,
                       moe_intermediate_size=20, use_expert_bias=True, routed_scaling_factor=1.0,
                       rope_parameters=rope("default"))),
    "mamba2-b": ("Mamba2", 48, 3, 0, 0, 24, 0, True,
                 dict(num_heads=4, n_groups=2, state_size=12, expand=2, conv_kernel=3, chunk_size=16)),
    "nemotronh-b": ("NemotronH", 48, 7, 4, 2, 16, 40, False,
                    dict(hybrid_override_pattern="M-M*-M-", ssm_state_size=12, mamba_num_heads=8, mamba_head_dim=16,
                         n_groups=4, chunk_size=16)),
    "nemotronh-c": ("NemotronH", 48, 6, 6, 1, 16, 40, False,
                    dict(hybrid_override_pattern="*EM-EM", ssm_state_size=16, mamba_num_heads=8, mamba_head_dim=16,
                         n_groups=2, chunk_size=16, n_routed_experts=6, num_experts_per_tok=3, n_shared_experts=1,
                         moe_intermediate_size=20, moe_shared_expert_intermediate_size=28, moe_latent_size=24,
                         routed_scaling_factor=1.7)),
    "granitehybrid-a": ("GraniteMoeHybrid", 48, 5, 4, 2, 12, 20, True,
                        dict(layer_types=["mamba", "attention", "mamba", "mamba", "attention"], num_local_experts=0,
                             num_experts_per_tok=0, shared_intermediate_size=40, mamba_n_heads=6, mamba_n_groups=1,
                             mamba_d_state=12, mamba_d_head=16, mamba_d_conv=4, mamba_expand=2, mamba_chunk_size=16,
                             embedding_multiplier=3.0, residual_multiplier=0.7, attention_multiplier=0.3,
                             logits_scaling=2.0, position_embedding_type="nope")),
    "granitehybrid-b": ("GraniteMoeHybrid", 64, 4, 8, 2, 8, 24, False,
                        dict(layer_types=["attention", "mamba", "attention", "mamba"], num_local_experts=6,
                             num_experts_per_tok=2, shared_intermediate_size=28, mamba_n_heads=8, mamba_n_groups=2,
                             mamba_d_state=16, mamba_d_head=16, mamba_d_conv=4, mamba_expand=2, mamba_chunk_size=16,
                             embedding_multiplier=2.0, residual_multiplier=0.5, attention_multiplier=0.25,
                             logits_scaling=3.0, position_embedding_type="nope")),
    "gemma4-b": ("Gemma4", 48, 7, 6, 2, 16, 56, True,
                 dict(layer_types=pattern("ssfssfs"[:6]) + ["full_attention"], sliding_window=9, global_head_dim=24,
                      num_global_key_value_heads=3, hidden_size_per_layer_input=12, num_kv_shared_layers=3,
                      vocab_size_per_layer_input=VOCAB, final_logit_softcapping=4.0,
                      rope_parameters=gemma4_rope(0.5))),
    "gemma4-c": ("Gemma4", 64, 5, 8, 4, 16, 40, False,
                 dict(layer_types=pattern("sfssf"), sliding_window=12, global_head_dim=32,
                      num_global_key_value_heads=2, hidden_size_per_layer_input=0, attention_k_eq_v=True,
                      rope_parameters=gemma4_rope(0.25))),
    "gemma4moe-b": ("Gemma4", 48, 4, 4, 1, 24, 40, True,
                    dict(layer_types=pattern("ssff"), sliding_window=20, global_head_dim=16,
                         num_global_key_value_heads=2, hidden_size_per_layer_input=0, attention_k_eq_v=True,
                         enable_moe_block=True, num_experts=6, top_k_experts=3, moe_intermediate_size=20,
                         rope_parameters=gemma4_rope(0.5))),
    "gptoss-b": ("GptOss", 64, 3, 6, 1, 16, 24, False,
                 dict(sliding_window=9, num_local_experts=6, num_experts_per_tok=3,
                      rope_parameters=rope("yarn", factor=4.0, original_max_position_embeddings=64, truncate=True,
                                           beta_fast=32.0, beta_slow=1.0))),
    "gptoss-c": ("GptOss", 48, 5, 8, 4, 16, 20, False,
                 dict(sliding_window=30, num_local_experts=5, num_experts_per_tok=1, rope_parameters=rope("default"))),
    "deepseekv3-b": ("DeepseekV3", 64, 3, 8, 8, 0, 56, False,  # Kimi K2: one group, one dense layer
                     dict(q_lora_rank=24, kv_lora_rank=16, qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=16,
                          n_group=1, topk_group=1, n_routed_experts=12, scoring_func="sigmoid",
                          num_experts_per_tok=4, n_shared_experts=1,
                          moe_intermediate_size=16, first_k_dense_replace=1, routed_scaling_factor=2.827,
                          rope_parameters=rope("yarn", rope_theta=5e4, factor=32.0, beta_fast=1.0, beta_slow=1.0,
                                               mscale=1.0, mscale_all_dim=1.0,
                                               original_max_position_embeddings=16))),
    "deepseekv3-c": ("DeepseekV3", 48, 4, 6, 6, 0, 40, True,
                     dict(q_lora_rank=None, kv_lora_rank=24, qk_nope_head_dim=8, qk_rope_head_dim=16, v_head_dim=12,
                          n_group=4, topk_group=2, n_routed_experts=16, num_experts_per_tok=3, n_shared_experts=2,
                          moe_intermediate_size=12, first_k_dense_replace=2, routed_scaling_factor=1.5,
                          norm_topk_prob=False, rope_parameters=rope("default"))),
    "deepseekv2-b": ("DeepseekV2", 48, 3, 4, 4, 0, 40, True,
                     dict(q_lora_rank=16, kv_lora_rank=24, qk_nope_head_dim=12, qk_rope_head_dim=8, v_head_dim=20,
                          n_group=3, topk_group=2, topk_method="group_limited_greedy", n_routed_experts=12,
                          num_experts_per_tok=3, n_shared_experts=1, moe_intermediate_size=12,
                          first_k_dense_replace=1, routed_scaling_factor=4.0, max_position_embeddings=640,
                          rope_parameters=rope("yarn", factor=40.0, beta_fast=32, beta_slow=1, mscale=0.707,
                                               mscale_all_dim=0.707, original_max_position_embeddings=16))),
    "qwen3moe-b": ("Qwen3Moe", 64, 4, 8, 1, 16, 40, True,
                   dict(num_experts=6, num_experts_per_tok=3, moe_intermediate_size=20, norm_topk_prob=True,
                        rope_parameters=rope("default"))),
    "qwen2moe-b": ("Qwen2Moe", 64, 3, 4, 4, 16, 40, True,
                   dict(num_experts=6, num_experts_per_tok=3, moe_intermediate_size=20, norm_topk_prob=False,
                        shared_expert_intermediate_size=52, rope_parameters=rope("default"))),
    "mixtral-b": ("Mixtral", 64, 3, 8, 1, 8, 20, False,
                  dict(num_local_experts=5, num_experts_per_tok=3, rope_parameters=rope("default"))),
    "glm4moe-c": ("Glm4Moe", 64, 4, 8, 2, 16, 40, True,
                  dict(use_qk_norm=False, attention_bias=False, n_routed_experts=6, num_experts_per_tok=2,
                       n_shared_experts=1, moe_intermediate_size=20, first_k_dense_replace=2, n_group=1,
                       topk_group=1, routed_scaling_factor=1.0, norm_topk_prob=True,
                       rope_parameters=rope("default", partial_rotary_factor=0.5))),
    "minimaxm2-b": ("MiniMaxM2", 64, 3, 6, 1, 16, 20, True,
                    dict(num_local_experts=6, num_experts_per_tok=3, rotary_dim=12, scoring_func="sigmoid",
                         rope_parameters=rope("default", partial_rotary_factor=0.75))),
    "ernie45moe-b": ("Ernie4_5_Moe", 64, 5, 8, 2, 8, 40, False,
                     dict(moe_num_experts=8, moe_k=2, moe_num_shared_experts=2, moe_intermediate_size=20,
                          moe_layer_start_index=2, moe_layer_interval=1, rope_parameters=rope("default"))),
    "stablelm-c": ("StableLm", 64, 3, 8, 8, 8, 40, False,
                   dict(use_qkv_bias=False, use_parallel_residual=True,
                        rope_parameters=rope("default", partial_rotary_factor=1.0))),
    "falcon-c": ("Falcon", 64, 3, 8, 4, 8, 256, False,
                 dict(new_decoder_architecture=True, num_ln_in_parallel_attn=1, alibi=False, bias=False)),
    "nemotron-b": ("Nemotron", 48, 4, 6, 1, 8, 56, True,
                   dict(norm_eps=1e-5, hidden_act="relu2", rope_parameters=rope("default", partial_rotary_factor=1.0))),
    "ministral3-b": ("Ministral3", 64, 3, 8, 1, 16, 40, False,
                     dict(rope_parameters=rope("yarn", factor=4.0, original_max_position_embeddings=32, beta_fast=32.0,
                                               beta_slow=1.0, mscale=1.0, mscale_all_dim=1.0,
                                               llama_4_scaling_beta=0.3))),
    "seedoss-b": ("SeedOss", 64, 3, 6, 1, 16, 40, False, dict(attention_out_bias=False, rope_parameters=rope("default"))),
    "hunyuan-b": ("HunYuanDenseV1", 64, 3, 6, 3, 16, 40, False, dict(rope_parameters=rope("default"))),
    "ernie45-b": ("Ernie4_5", 64, 3, 6, 1, 16, 40, False, dict(rope_parameters=rope("default"))),
    "starcoder2-b": ("Starcoder2", 64, 3, 8, 1, 8, 40, False, dict(sliding_window=None, rope_parameters=rope("default"))),
    "granitemoe-b": ("GraniteMoe", 64, 3, 8, 1, 8, 20, False,
                     dict(num_local_experts=6, num_experts_per_tok=4, embedding_multiplier=2.0,
                          residual_multiplier=0.5, attention_multiplier=0.2, logits_scaling=4.0,
                          rope_parameters=rope("default"))),
    "olmo2-b": ("Olmo2", 64, 3, 8, 2, 8, 40, True, dict(rope_parameters=rope("default"))),
    "qwen35-d": ("Qwen3_5Text", 64, 5, 8, 2, 16, 40, True,
                 dict(linear_num_key_heads=3, linear_num_value_heads=9, linear_key_head_dim=16,
                      linear_value_head_dim=8, full_attention_interval=2, rope_parameters=mrope(0.5))),
    "qwen35moe-c": ("Qwen3_5MoeText", 64, 4, 4, 4, 16, 0, False,
                    dict(linear_num_key_heads=2, linear_num_value_heads=2, linear_key_head_dim=8,
                         linear_value_head_dim=32, full_attention_interval=3, num_experts=9, num_experts_per_tok=4,
                         moe_intermediate_size=12, shared_expert_intermediate_size=20, rope_parameters=mrope(0.5))),
    "qwen3next-d": ("Qwen3Next", 48, 3, 6, 3, 16, 40, False,
                    dict(linear_num_key_heads=2, linear_num_value_heads=6, linear_key_head_dim=16,
                         linear_value_head_dim=24, full_attention_interval=3, num_experts=4, num_experts_per_tok=1,
                         moe_intermediate_size=20, shared_expert_intermediate_size=12,
                         rope_parameters=rope("default", partial_rotary_factor=0.25))),
    "mamba2-c": ("Mamba2", 64, 5, 0, 0, 16, 0, False,
                 dict(num_heads=8, n_groups=4, state_size=8, expand=2, conv_kernel=4, chunk_size=16, use_bias=True,
                      use_conv_bias=False)),
    "nemotronh-d": ("NemotronH", 64, 4, 4, 1, 16, 40, False,
                    dict(hybrid_override_pattern="M*-M", ssm_state_size=16, mamba_num_heads=8, mamba_head_dim=16,
                         n_groups=1, chunk_size=16, attention_bias=True, mlp_bias=True, use_bias=True)),
    "deepseekv3-d": ("DeepseekV3", 64, 3, 4, 4, 0, 40, False,
                     dict(q_lora_rank=20, kv_lora_rank=12, qk_nope_head_dim=12, qk_rope_head_dim=4, v_head_dim=20,
                          n_group=2, topk_group=1, n_routed_experts=8, num_experts_per_tok=2, n_shared_experts=1,
                          moe_intermediate_size=12, first_k_dense_replace=1, routed_scaling_factor=1.0,
                          scoring_func="sigmoid", attention_bias=True, rope_parameters=rope("default"))),
    "gptoss-d": ("GptOss", 32, 1, 4, 4, 32, 36, True,
                 dict(sliding_window=128, num_local_experts=4, num_experts_per_tok=4,
                      rope_parameters=rope("yarn", rope_theta=150000.0, factor=32.0, truncate=True, beta_fast=32.0,
                                           beta_slow=1.0, original_max_position_embeddings=4096))),
    "llama-e": ("Llama", 48, 3, 4, 2, 16, 40, True,
                dict(attention_bias=True, mlp_bias=True, rope_parameters=rope("default"))),
    "starcoder2-c": ("Starcoder2", 48, 2, 4, 4, 12, 40, True, dict(use_bias=False, rope_parameters=rope("default"))),
    "stablelm-d": ("StableLm", 48, 2, 6, 2, 8, 40, False,
                   dict(qk_layernorm=True, use_qkv_bias=True,
                        rope_parameters=rope("default", partial_rotary_factor=0.5))),
    "granite-b": ("Granite", 64, 3, 8, 1, 8, 40, False,
                  dict(embedding_multiplier=2.0, residual_multiplier=0.5, attention_multiplier=0.2,
                       logits_scaling=4.0, attention_bias=True, rope_parameters=rope("default"))),
    "phi3-b": ("Phi3", 64, 3, 8, 2, 8, 40, False, dict(rope_parameters=rope("default", partial_rotary_factor=0.5))),
    "seedoss-c": ("SeedOss", 48, 2, 4, 4, 16, 40, True,
                  dict(attention_bias=True, attention_out_bias=True, rope_parameters=rope("default"))),
    "gemma-b": ("Gemma", 64, 3, 8, 4, 12, 40, True, dict(rope_parameters=rope("default"))),
    "exaone4-b": ("Exaone4", 64, 7, 8, 1, 8, 40, True,
                  dict(sliding_window=9, sliding_window_pattern=3, rope_parameters=rope("default"))),
}
# Families whose norm weights are stored as distances from 1 (but those of gated norms).
FROM_ONE = {"Gemma", "Gemma2", "Gemma3", "Nemotron", "Qwen3_5Text", "Qwen3_5MoeText", "Qwen3Next"}
# The names of settings that differ; None: the family has none.
SETTINGS = {
    # A head's size follows from the rest.
    "Falcon": dict(num_key_value_heads="num_kv_heads", intermediate_size="ffn_hidden_size", head_dim=None),
    "Lfm2": dict(head_dim=None), "Lfm2Moe": dict(head_dim=None),
    "GraniteMoeHybrid": dict(head_dim=None),
    "Mamba2": dict(num_attention_heads=None, num_key_value_heads=None, intermediate_size=None,
                   max_position_embeddings=None),
    "NemotronH": dict(num_hidden_layers=None),
    "DeepseekV2": dict(head_dim=None), "DeepseekV3": dict(head_dim=None),
    "Qwen3_5MoeText": dict(intermediate_size=None),
}


# llama.cpp's reader takes the two limits and the attention factor of yarn as fixed, whatever the file says.
LLAMA_CPP_DIFFERS = {"llamayarn-b": "ignores yarn_beta_fast and yarn_beta_slow",
                     "llamayarn-c": "ignores yarn_attn_factor"}


def make_model(name):
    family, hidden, layers, heads, kv_heads, head, ffn, tied, more = copy.deepcopy(VARIANTS[name])
    config_class = family + ("TextConfig" if family in ("Gemma3", "Gemma4") else "Config")
    settings = dict(vocab_size=VOCAB, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
                    num_key_value_heads=kv_heads, head_dim=head, intermediate_size=ffn, tie_word_embeddings=tied,
                    max_position_embeddings=512, attn_implementation="eager", bos_token_id=None, eos_token_id=None,
                    pad_token_id=None)
    for old, new in SETTINGS.get(family, {}).items():
        value = settings.pop(old)
        if new:
            settings[new] = value
    config = getattr(transformers, config_class)(**{**settings, **more})
    config._experts_implementation = "eager"  # the others have no float64
    torch.manual_seed(sum(map(ord, name)) * 7919)
    model = getattr(transformers, family.removesuffix("Text") + "ForCausalLM")(config).eval()
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
            elif key.endswith("A_log"):  # states that last for a few tokens, and for many
                p.normal_(-1.5, 1)
            elif key.endswith("sinks"):
                p.normal_(0, 1)
            else:
                p.normal_(0 if family in FROM_ONE and "linear_attn" not in key else 1, 0.2)
    return model


def forward(model, ids):
    with torch.no_grad():
        return model(torch.tensor([ids]), use_cache=False).logits[0]


def reference(name, model):
    rng = np.random.default_rng(sum(map(ord, name)))
    ids = [int(i) for i in rng.integers(0, VOCAB, TOKENS)]
    single, model = forward(model, ids), copy.deepcopy(model).double()
    logits = forward(model, ids)
    deviation = float(logits[-1].std())
    nll = -torch.log_softmax(logits, -1)[torch.arange(TOKENS - 1), torch.tensor(ids[1:])]
    text, greedy, gaps = list(ids), [], []
    for _ in range(GREEDY):
        top = forward(model, text)[-1].topk(2)
        greedy.append(int(top.indices[0]))
        gaps.append(float(top.values[0] - top.values[1]))
        text.append(greedy[-1])
    top = logits[-1].topk(10)
    nine = lambda values: [float("%.9g" % v) for v in values]
    return logits, dict(
        transformers_class=type(model).__name__,
        transformers_version=transformers.__version__, ids=ids,
        top10_last=[[int(i), float("%.9g" % v)] for i, v in zip(top.indices, top.values)],
        logits_last=nine(logits[-1].tolist()), logits_first=nine(logits[0].tolist()), nll=nine(nll.tolist()),
        greedy16=greedy, greedy_gap=[float("%.7g" % g) for g in gaps], logit_std_last=float("%.7g" % deviation),
        float64_max_rel=float("%.3g" % (float((single.double() - logits).abs().max()) / deviation)))


def for_converter(path):
    """What published files say otherwise than transformers writes them now."""
    config = json.loads(path.read_text())
    if config["model_type"] == "granitemoehybrid":
        words = {"linear_attention": "mamba", "full_attention": "attention"}
        config["layer_types"] = [words.get(kind, kind) for kind in config["layer_types"]]
    path.write_text(json.dumps(config))


def convert(name, model, llama_cpp, out, change=None):
    """Through the converter's classes, since its command line insists on a tokenizer. Gives the architecture's name.

    change(folder): of the checkpoint, before it is read; adds a block that predicts further tokens."""
    sys.path[:0] = [str(llama_cpp / "gguf-py"), str(llama_cpp)]
    import gguf
    from conversion import ModelBase, get_model_class

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / ("tiny-" + name)
        model.save_pretrained(folder)
        for_converter(folder / "config.json")
        if change:
            change(folder)
        # Where a converter counts the vocabulary, this is all that it looks at.
        words = {"model": {"type": "BPE", "merges": [], "vocab": {str(i): i for i in range(VOCAB)}},
                 "added_tokens": []}
        (folder / "tokenizer.json").write_text(json.dumps(words))
        base = get_model_class(ModelBase.load_hparams(folder, False)["architectures"][0])
        base = getattr(base, "Ministral3Model", base)  # one class stands for several

        class NoVocabulary(base):
            model_arch = base.model_arch
            no_mtp = change is None

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
            writer = NoVocabulary(folder, gguf.LlamaFileType.ALL_F32, out / (name + ".gguf"))
            writer.write()
            return writer.gguf_writer.arch


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
        result = dict(arch=convert(name, model, args.llama_cpp.resolve(), args.out), **result)
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
