#!/usr/bin/env python3
"""Makes tiny random models with blocks that predict further tokens (multi-token prediction, "nextn"), with reference
values: float64, written out from the published formulas in numpy, sharing nothing with the program under test.

transformers drops these blocks, so there is no model class to ask. For each variant OUT/NAME.gguf (float32, no
tokenizer) and OUT/NAME.json:
  ids        the text
  hidden     the trunk's rows behind its last norm, one a token
  logits     the trunk's, of the last token
  drafts     of each block: the tokens that its rows are given, its logits and its hidden rows, from position 0 on. The
             tokens are the text's; behind it the likeliest next one of the trunk, then of the blocks before.
  chain      where there is one block, its further steps, one row each: position, token (the likeliest of the step
             before), logits. Each goes on from the hidden row of the step before.
  std        of the trunk's last logits

Needs numpy and gguf.
Usage: mtp_reference.py --out DIR [NAME...]
"""
import argparse
import json
from pathlib import Path

import gguf
import numpy as np

LENGTH, VOCAB = 21, 112

# name: (architecture, settings). Keys: width, heads and kv of attention, dim and rot of a head, taps, and the delta
# net's k and v heads; experts and how many a token uses; blocks that predict; what the file has of its own for them.
VARIANTS = {
    "qwen35-mtp-a": ("qwen35", dict(width=48, layers=4, heads=4, kv=2, dim=16, rot=8, ff=72, k_heads=2, v_heads=4,
                                    state=8, blocks=1, tied=False, own=("norm",))),
    "qwen35-mtp-b": ("qwen35", dict(width=32, layers=5, heads=2, kv=1, dim=32, rot=8, ff=56, k_heads=1, v_heads=3,
                                    state=16, blocks=2, tied=True, own=())),
    # Its blocks and its trunk look mostly at the last token, so the drafts are often right.
    "qwen35-mtp-c": ("qwen35", dict(width=64, layers=4, heads=4, kv=1, dim=16, rot=4, ff=96, k_heads=2, v_heads=2,
                                    state=16, blocks=1, tied=False, own=("norm",), easy=True)),
    "qwen35moe-mtp-a": ("qwen35moe", dict(width=48, layers=4, heads=4, kv=2, dim=16, rot=8, k_heads=2, v_heads=6,
                                          state=8, experts=6, used=2, expert=24, shared=40, blocks=1, tied=True,
                                          own=("norm", "embed", "head"))),
    "qwen3next-mtp-a": ("qwen3next", dict(width=48, layers=4, heads=6, kv=3, dim=16, rot=4, k_heads=2, v_heads=4,
                                          state=8, experts=5, used=3, expert=16, shared=24, blocks=1, tied=False,
                                          own=("norm",))),
    "glm4moe-mtp-a": ("glm4moe", dict(width=48, layers=3, heads=6, kv=2, dim=16, rot=8, ff=80, experts=6, used=2,
                                      expert=24, dense=1, scale=1.5, qk_norm=True, blocks=1, tied=False,
                                      own=("norm", "embed", "head"))),
    "glm4moe-mtp-b": ("glm4moe", dict(width=32, layers=2, heads=4, kv=4, dim=8, rot=4, ff=48, experts=4, used=3,
                                      expert=16, dense=1, scale=1.0, blocks=2, tied=False, own=("norm", "head"))),
    "deepseek2-mtp-a": ("deepseek2", dict(width=64, layers=3, heads=4, q_rank=24, kv_rank=32, dim=24, rot=8, value=16,
                                          ff=72, experts=8, used=3, expert=16, dense=1, scale=2.5, groups=4,
                                          groups_used=2, blocks=1, tied=False, own=("norm", "embed", "head"))),
}


def rms(x, w=None, eps=1e-6):
    y = x / np.sqrt(np.mean(x * x, -1, keepdims=True) + eps)
    return y if w is None else y * w


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def rotate(x, positions, n_rot, base, halves):
    """x [T, heads, dim]: the first n_rot dimensions of each head, in pairs (i, i + n_rot/2) or (2i, 2i + 1)."""
    angles = positions[:, None] * base ** (-2 * np.arange(n_rot // 2) / n_rot)
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    first = np.arange(n_rot // 2) if halves else 2 * np.arange(n_rot // 2)
    second = first + (n_rot // 2 if halves else 1)
    y = x.copy()
    y[..., first] = x[..., first] * cos - x[..., second] * sin
    y[..., second] = x[..., second] * cos + x[..., first] * sin
    return y


def attend(q, k, v, scale):
    """q [T, heads, d], k and v [T, kv heads, …], causal → [T, heads, dv]."""
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    scores = np.einsum("thd,shd->hts", q, k) * scale
    scores[:, np.triu(np.ones(scores.shape[1:], bool), 1)] = -np.inf
    return np.einsum("hts,shd->thd", softmax(scores), v)


class Model:
    """The file's tensors as float64, and the formulas over them. A tensor that is asked for the first time is made."""

    def __init__(self, name):
        self.arch, settings = VARIANTS[name]
        self.__dict__.update(dict(easy=False, qk_norm=False, dense=0, experts=0, groups=1, scale=1.0), **settings)
        self.rng = np.random.default_rng(sum(map(ord, name)))
        self.tensors = {}
        self.base = 10000.0
        self.deep = self.arch == "deepseek2"
        self.delta = self.arch.startswith("qwen")
        self.eps = 1e-5 if self.arch == "glm4moe" else 1e-6

    # ---- tensors

    def get(self, name, *shape, spread=None, offset=0.0):
        if name not in self.tensors:
            spread = 1.3 / np.sqrt(shape[-1]) if spread is None else spread
            values = self.rng.standard_normal(shape) * spread + offset
            self.tensors[name] = values.astype(np.float32)
        return self.tensors[name].astype(np.float64)

    def norm(self, name, n):
        return self.get(name + ".weight", n, spread=0.2, offset=1.0)

    def linear(self, x, name, rows, bias=False, quiet=False):
        spread = 0.25 / np.sqrt(x.shape[-1]) if quiet and self.easy else None
        y = x @ self.get(name + ".weight", rows, x.shape[-1], spread=spread).T
        return y + self.get(name + ".bias", rows, spread=0.2) if bias else y

    # ---- parts of a layer; x [T, width]

    def attention(self, x, b, positions):
        bias, gated, norms = self.arch == "glm4moe", self.delta, self.delta or self.qk_norm
        t = len(x)
        if gated:
            both = self.linear(x, b + "attn_q", 2 * self.heads * self.dim).reshape(t, self.heads, 2, self.dim)
            q, gate = both[:, :, 0], both[:, :, 1]
        else:
            q = self.linear(x, b + "attn_q", self.heads * self.dim, bias).reshape(t, self.heads, self.dim)
        k = self.linear(x, b + "attn_k", self.kv * self.dim, bias).reshape(t, self.kv, self.dim)
        v = self.linear(x, b + "attn_v", self.kv * self.dim, bias).reshape(t, self.kv, self.dim)
        if norms:
            q = rms(q, self.norm(b + "attn_q_norm", self.dim), self.eps)
            k = rms(k, self.norm(b + "attn_k_norm", self.dim), self.eps)
        q, k = (rotate(y, positions, self.rot, self.base, True) for y in (q, k))
        y = attend(q, k, v, self.dim ** -0.5)
        if gated:
            y = y * sigmoid(gate)
        return self.linear(y.reshape(t, -1), b + "attn_output", self.width, quiet=True)

    def latent_attention(self, x, b, positions):
        t, plain = len(x), self.dim - self.rot
        q = rms(self.linear(x, b + "attn_q_a", self.q_rank), self.norm(b + "attn_q_a_norm", self.q_rank), self.eps)
        q = self.linear(q, b + "attn_q_b", self.heads * self.dim).reshape(t, self.heads, self.dim)
        turned = rotate(q[..., plain:], positions, self.rot, self.base, False)
        both = self.linear(x, b + "attn_kv_a_mqa", self.kv_rank + self.rot)
        latent = rms(both[:, :self.kv_rank], self.norm(b + "attn_kv_a_norm", self.kv_rank), self.eps)
        key = rotate(both[:, None, self.kv_rank:], positions, self.rot, self.base, False)
        up_k = self.get(b + "attn_k_b.weight", self.heads, self.kv_rank, plain)
        up_v = self.get(b + "attn_v_b.weight", self.heads, self.value, self.kv_rank)
        # Keys and values of each head, not absorbed into the query.
        k = np.concatenate([np.einsum("tr,hrd->thd", latent, up_k), np.repeat(key, self.heads, 1)], -1)
        v = np.einsum("tr,hdr->thd", latent, up_v)
        y = attend(np.concatenate([q[..., :plain], turned], -1), k, v, self.dim ** -0.5)
        return self.linear(y.reshape(t, -1), b + "attn_output", self.width)

    def delta_net(self, x, b):
        t, ratio, taps = len(x), self.v_heads // self.k_heads, 4
        keys, values = self.k_heads * self.state, self.v_heads * self.state
        u = self.linear(x, b + "attn_qkv", 2 * keys + values)
        kernel = self.get(b + "ssm_conv1d.weight", 2 * keys + values, taps, spread=0.5)
        padded = np.concatenate([np.zeros((taps - 1, u.shape[1])), u])
        u = silu(sum(padded[j:j + t] * kernel[:, j] for j in range(taps)))
        q, k, v = (y.reshape(t, -1, self.state) for y in np.split(u, [keys, 2 * keys], 1))
        q, k = (y / np.sqrt((y * y).sum(-1, keepdims=True) + 1e-6) for y in (q, k))
        if self.arch == "qwen3next":
            both = self.linear(x, b + "ssm_ba", 2 * self.v_heads).reshape(t, self.k_heads, 2, ratio)
            beta, alpha = (both[:, :, i].reshape(t, -1) for i in range(2))
            owner = np.arange(self.v_heads) // ratio
        else:
            beta, alpha = (self.linear(x, b + name, self.v_heads) for name in ("ssm_beta", "ssm_alpha"))
            owner = np.arange(self.v_heads) % self.k_heads
        a = self.get(b + "ssm_a", self.v_heads, spread=0.3, offset=-1.2)
        g = np.exp(a * np.log1p(np.exp(alpha + self.get(b + "ssm_dt.bias", self.v_heads, spread=0.3))))
        out = np.zeros((t, self.v_heads, self.state))
        state = np.zeros((self.v_heads, self.state, self.state))
        for i in range(t):
            key, query = k[i, owner], q[i, owner] / np.sqrt(self.state)
            state = state * g[i][:, None, None]
            error = sigmoid(beta[i])[:, None] * (v[i] - np.einsum("hkv,hk->hv", state, key))
            state = state + key[:, :, None] * error[:, None, :]
            out[i] = np.einsum("hkv,hk->hv", state, query)
        z = self.linear(x, b + "attn_gate", values).reshape(t, self.v_heads, self.state)
        y = rms(out, self.norm(b + "ssm_norm", self.state), self.eps) * silu(z)
        return self.linear(y.reshape(t, -1), b + "ssm_out", self.width, quiet=True)

    def feed_forward(self, x, b, ff, tail=""):
        y = silu(self.linear(x, b + "ffn_gate" + tail, ff)) * self.linear(x, b + "ffn_up" + tail, ff)
        return self.linear(y, b + "ffn_down" + tail, self.width, quiet=True)

    def route(self, x, b):
        """Which experts each token uses, and their weights: [T, used] twice."""
        logits = self.linear(x, b + "ffn_gate_inp", self.experts)
        if self.delta:
            scores = choice = softmax(logits)
        else:
            scores = sigmoid(logits)
            choice = scores + self.get(b + "exp_probs_b.bias", self.experts, spread=0.2)
        if self.groups > 1:
            best = np.sort(choice.reshape(len(x), self.groups, -1), -1)[..., -2:].sum(-1)
            kept = np.argsort(-best, -1)[:, :self.groups_used]
            group = np.arange(self.experts) // (self.experts // self.groups)
            choice = np.where((group[None, None] == kept[:, :, None]).any(1), choice, -np.inf)
        chosen = np.argsort(-choice, -1)[:, :self.used]
        weights = np.take_along_axis(scores, chosen, -1)
        return chosen, weights / weights.sum(-1, keepdims=True) * self.scale

    def mixture(self, x, b):
        inner = self.expert
        gate = self.get(b + "ffn_gate_exps.weight", self.experts, inner, self.width)
        up = self.get(b + "ffn_up_exps.weight", self.experts, inner, self.width)
        down = self.get(b + "ffn_down_exps.weight", self.experts, self.width, inner)
        y = np.zeros_like(x)
        for t, (chosen, weights) in enumerate(zip(*self.route(x, b))):
            for e, w in zip(chosen, weights):
                y[t] += w * (down[e] @ (silu(gate[e] @ x[t]) * (up[e] @ x[t])))
        if self.delta:
            shared = self.feed_forward(x, b, self.shared, "_shexp")
            weight = self.get(b + "ffn_gate_inp_shexp.weight", self.width, spread=0.3)
            return y + shared * sigmoid(x @ weight)[:, None]
        return y + self.feed_forward(x, b, inner, "_shexp")

    def layer(self, x, i, recurrent):
        b, positions = f"blk.{i}.", np.arange(len(x), dtype=np.float64)
        h = rms(x, self.norm(b + "attn_norm", self.width), self.eps)
        if recurrent:
            x = x + self.delta_net(h, b)
        else:
            x = x + (self.latent_attention if self.deep else self.attention)(h, b, positions)
        h = rms(x, self.norm(b + ("ffn_norm" if self.deep else "post_attention_norm"), self.width), self.eps)
        return x + (self.mixture(h, b) if self.experts and i >= self.dense else self.feed_forward(h, b, self.ff))

    # ---- the whole

    def table(self):
        return self.get("token_embd.weight", VOCAB, self.width, spread=1.0)

    def head(self):
        if self.tied:
            return self.table()
        if self.easy and "output.weight" not in self.tensors:  # the successor of a token is in its embedding
            values = np.roll(self.table(), 1, 0) + 0.2 * self.rng.standard_normal((VOCAB, self.width))
            self.tensors["output.weight"] = values.astype(np.float32)
        return self.get("output.weight", VOCAB, self.width)

    def trunk(self, ids):
        x = self.table()[ids]
        for i in range(self.layers):
            x = self.layer(x, i, self.delta and (i + 1) % 4 != 0)
        return rms(x, self.norm("output_norm", self.width), self.eps)

    def draft(self, block, tokens, hidden):
        """Rows from position 0 on: logits and hidden rows."""
        b = f"blk.{self.layers + block}.nextn."
        own = lambda part: part in self.own and (part == "norm" or block == 0)
        table = self.get(b + "embed_tokens.weight", VOCAB, self.width, spread=1.0) if own("embed") else self.table()
        e = rms(table[tokens], self.norm(b + "enorm", self.width), self.eps)
        h = rms(hidden, self.norm(b + "hnorm", self.width), self.eps)
        if self.easy and b + "eh_proj.weight" not in self.tensors:
            noise = 0.05 * self.rng.standard_normal((self.width, 2 * self.width))
            self.tensors[b + "eh_proj.weight"] = (np.eye(self.width, 2 * self.width) + noise).astype(np.float32)
        x = self.linear(np.concatenate([e, h], -1), b + "eh_proj", self.width)
        x = self.layer(x, self.layers + block, False)
        norm = self.norm(b + "shared_head_norm" if own("norm") else "output_norm", self.width)
        x = rms(x, norm, self.eps)
        head = self.get(b + "shared_head_head.weight", VOCAB, self.width) if own("head") else self.head()
        return x @ head.T, x

    def keys(self):
        u, f = {}, {}
        u["block_count"], u["context_length"] = self.layers + self.blocks, 256
        u["embedding_length"], u["nextn_predict_layers"] = self.width, self.blocks
        u["attention.head_count"], u["attention.head_count_kv"] = self.heads, 1 if self.deep else self.kv
        f["attention.layer_norm_rms_epsilon"], f["rope.freq_base"] = self.eps, self.base
        u["rope.dimension_count"] = self.rot
        if self.deep:
            u["attention.q_lora_rank"], u["attention.kv_lora_rank"] = self.q_rank, self.kv_rank
            u["attention.key_length"], u["attention.value_length"] = self.kv_rank + self.rot, self.kv_rank
            u["attention.key_length_mla"], u["attention.value_length_mla"] = self.dim, self.value
        else:
            u["attention.key_length"] = u["attention.value_length"] = self.dim
        if hasattr(self, "ff"):
            u["feed_forward_length"] = self.ff
        if self.delta:
            u["full_attention_interval"], u["ssm.conv_kernel"], u["ssm.state_size"] = 4, 4, self.state
            u["ssm.group_count"], u["ssm.time_step_rank"] = self.k_heads, self.v_heads
            u["ssm.inner_size"] = self.v_heads * self.state
        if self.experts:
            u["expert_count"], u["expert_used_count"] = self.experts, self.used
            u["expert_feed_forward_length"] = self.expert
            if self.delta:
                u["expert_shared_feed_forward_length"] = self.shared
            else:
                u["expert_shared_count"], u["leading_dense_block_count"] = 1, self.dense
                u["expert_gating_func"], f["expert_weights_scale"] = 2, self.scale
            if self.groups > 1:
                u["expert_group_count"], u["expert_group_used_count"] = self.groups, self.groups_used
        return u, f

    def write(self, path):
        writer = gguf.GGUFWriter(path, self.arch)
        u, f = self.keys()
        for key, value in u.items():
            writer.add_uint32(f"{self.arch}.{key}", value)
        for key, value in f.items():
            writer.add_float32(f"{self.arch}.{key}", value)
        if self.experts and not self.delta:
            writer.add_bool(f"{self.arch}.expert_weights_norm", True)
        writer.add_string("tokenizer.ggml.model", "none")
        for name, values in self.tensors.items():
            writer.add_tensor(name, values)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()


def rounded(values):
    return [[float(f"{x:.7g}") for x in row] for row in np.atleast_2d(values)]


def reference(model):
    ids = model.rng.integers(0, VOCAB, LENGTH)
    hidden = model.trunk(ids)
    logits = hidden @ model.head().T
    guess = int(np.argmax(logits[-1]))
    out = dict(arch=model.arch, ids=ids.tolist(), hidden=rounded(hidden), logits=rounded(logits[-1])[0], drafts=[],
               chain=[], std=float(np.std(logits[-1])))
    known = [*ids.tolist(), guess]  # the text and the likeliest continuation so far
    rows = hidden
    for block in range(model.blocks):
        n = len(known) - 1 - block
        tokens = np.array(known[1 + block:1 + block + n])
        scores, rows = model.draft(block, tokens, rows[:n])
        out["drafts"].append(dict(tokens=tokens.tolist(), logits=rounded(scores), hidden=rounded(rows)))
        known.append(int(np.argmax(scores[-1])))
    if model.blocks == 1:
        tokens, given = out["drafts"][0]["tokens"], hidden
        for step in range(3):
            scores, rows = model.draft(0, np.array(tokens), given)
            if step > 0:
                out["chain"].append(dict(position=len(tokens) - 1, token=tokens[-1], logits=rounded(scores[-1])[0]))
            tokens = [*tokens, int(np.argmax(scores[-1]))]
            given = np.concatenate([given, rows[-1:]])
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    for name in args.names or VARIANTS:
        model = Model(name)
        values = reference(model)
        model.write(args.out / f"{name}.gguf")
        (args.out / f"{name}.json").write_text(json.dumps(values, separators=(",", ":")) + "\n")
        print(f"{name}: {len(model.tensors)} tensors, std {values['std']:.3f}, "
              f"{[step['token'] for step in values['chain']]}")


if __name__ == "__main__":
    main()
