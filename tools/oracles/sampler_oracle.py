#!/usr/bin/env python3
"""Writes tests/text/sampler_fixtures.json: what the sampler must draw from, for many parameter sets.

A small independent model of the distribution in float64, by sorting everything and counting naively. Needs numpy.
Usage: sampler_oracle.py [OUTPUT]
"""
import json
import math
import random
import sys

import numpy as np

DEFAULTS = dict(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0, typical_p=1.0, repeat_last_n=64,
                repeat_penalty=1.0, frequency_penalty=0.0, presence_penalty=0.0, dry_multiplier=0.0, dry_base=1.75,
                dry_allowed_length=2, dry_last_n=-1, dry_breakers=[], xtc_probability=0.0, xtc_threshold=0.1,
                logit_bias=[])


def make_logits(seed, vocab, scale):
    """The same formula stands in the test: exact in float32, with many equal values in a large vocabulary."""
    out = []
    for i in range(vocab):
        h = ((i + 1) * 6364136223846793005 + seed * 1442695040888963407) % 2**64
        k = ((h ^ (h >> 29)) * 0xbf58476d1ce4e5b9 % 2**64) >> 52
        out.append((k * k / 2.0**20 - 8.0) * scale)
    return np.array(out, dtype=np.float64)


def f32(x):
    return float(np.float32(x))


def penalties(logits, text, p):
    recent = text if p["repeat_last_n"] < 0 else text[len(text) - min(len(text), p["repeat_last_n"]):]
    for t in set(recent):
        x = logits[t]
        r = f32(p["repeat_penalty"])
        x = x / r if x > 0 else x * r
        x -= recent.count(t) * f32(p["frequency_penalty"]) + f32(p["presence_penalty"])
        logits[t] = f32(x)


def dry(logits, text, p):
    if p["dry_multiplier"] == 0 or p["dry_last_n"] == 0:
        return
    window = text if p["dry_last_n"] < 0 else text[len(text) - min(len(text), p["dry_last_n"]):]
    limit = 0  # tokens at the end of the text that no breaker ends in
    while limit < len(window):
        upto = text[:len(text) - limit]
        if any(len(b) <= len(upto) and upto[-len(b):] == b for b in p["dry_breakers"]):
            break
        limit += 1
    longest = {}
    for j in range(len(window) - 1):  # a passage that ends with window[j]; window[j + 1] followed it
        n = 0
        while n < limit and n <= j and window[j - n] == window[len(window) - 1 - n]:
            n += 1
        if n >= p["dry_allowed_length"]:
            longest[window[j + 1]] = max(n, longest.get(window[j + 1], 0))
    for t, n in longest.items():
        logits[t] = f32(logits[t] - f32(p["dry_multiplier"]) * f32(p["dry_base"]) ** (n - p["dry_allowed_length"]))


def softmax(ids, logits):
    x = np.array([logits[i] for i in ids])
    e = np.exp(x - x.max())
    return e / e.sum()


def fewest(order, logits, mass):
    """Weights relative to the highest, not divided by their sum: equal ones add up without rounding."""
    highest = max(logits[i] for i in order)
    weight = {i: math.exp(logits[i] - highest) for i in order}
    enough, total, kept = mass * math.fsum(weight.values()), 0.0, []
    for i in order:
        kept.append(i)
        total += weight[i]
        if total >= enough:
            break
    return kept


def distribution(logits, text, p):
    logits = logits.copy()
    for t, b in p["logit_bias"]:
        logits[t] = -math.inf if b is None else f32(logits[t] + f32(b))
    penalties(logits, text, p)
    dry(logits, text, p)
    ids = sorted((i for i in range(len(logits)) if logits[i] > -math.inf), key=lambda i: (-logits[i], i))
    if p["top_k"] > 0:
        ids = ids[:p["top_k"]]
    if p["typical_p"] < 1:
        pr = dict(zip(ids, softmax(ids, logits)))
        entropy = -sum(q * math.log(q) for q in pr.values() if q > 0)
        order = sorted(ids, key=lambda i: (abs(-math.log(pr[i]) - entropy), i))
        ids = sorted(fewest(order, logits, f32(p["typical_p"])), key=lambda i: (-logits[i], i))
    if p["top_p"] < 1:
        ids = fewest(ids, logits, f32(p["top_p"]))
    if p["min_p"] > 0:
        pr = softmax(ids, logits)
        ids = [i for i, q in zip(ids, pr) if q >= f32(p["min_p"]) * pr[0]]
    if p["xtc_probability"] == 1:
        pr = softmax(ids, logits)
        top = [i for i, q in zip(ids, pr) if q >= f32(p["xtc_threshold"])]
        ids = [i for i in ids if i not in top[:-1]]
    temperature = f32(p["temperature"])
    pr = softmax(ids, {i: logits[i] / temperature for i in ids})
    return [[int(i), float("%.9g" % q)] for i, q in zip(ids, pr) if q > 1e-12]


def random_params(rng, vocab):
    p = {}
    if rng.random() < 0.5: p["top_k"] = rng.choice([1, 2, 5, 17, 40, 40, 200, vocab, vocab + 9])
    if rng.random() < 0.4: p["top_p"] = rng.choice([0.0, 0.1, 0.5, 0.8, 0.95, 0.95, 0.999])
    if rng.random() < 0.3: p["min_p"] = rng.choice([0.01, 0.05, 0.05, 0.3, 1.0])
    if rng.random() < 0.3: p["typical_p"] = rng.choice([0.0, 0.2, 0.5, 0.9, 0.95])
    if rng.random() < 0.7: p["temperature"] = rng.choice([0.1, 0.5, 0.8, 1.3, 3.0])
    if rng.random() < 0.25: p.update(xtc_probability=1.0, xtc_threshold=rng.choice([0.0, 0.02, 0.1, 0.3]))
    if rng.random() < 0.4:
        p.update(repeat_penalty=rng.choice([1.0, 1.1, 1.8, 0.7]), frequency_penalty=rng.choice([0.0, 0.3, -0.5]),
                 presence_penalty=rng.choice([0.0, 0.6, -1.0]), repeat_last_n=rng.choice([-1, 0, 3, 20, 64]))
    if rng.random() < 0.4:
        p.update(dry_multiplier=rng.choice([0.4, 0.8, 2.0]), dry_base=rng.choice([1.0, 1.3, 1.75]),
                 dry_allowed_length=rng.choice([1, 2, 3]), dry_last_n=rng.choice([-1, -1, 0, 5, 40]))
        if rng.random() < 0.6: p["dry_breakers"] = [[0], [1, 2]]
    if rng.random() < 0.3:
        p["logit_bias"] = [[rng.randrange(vocab), rng.choice([-5.0, 2.5, 100.0, None])] for _ in range(min(4, vocab - 1))]
    return p


def main():
    rng = random.Random(20240607)
    cases = []
    for n in range(240):
        vocab = rng.choice([3, 12, 30, 64, 65, 1000] if n % 4 else [5000])
        seed, scale = rng.randrange(1 << 20), rng.choice([0.0, 0.0625, 0.125, 0.25, 0.5, 1.0])
        p = random_params(rng, vocab)
        words = min(vocab, rng.choice([3, 6, 200]))
        text = [rng.randrange(words) for _ in range(rng.choice([0, 1, 10, 100]))]
        if len(text) > 20 and rng.random() < 0.5: text[-6:] = text[4:10]
        result = distribution(make_logits(seed, vocab, scale), text, {**DEFAULTS, **p})
        kept = len(result)
        cases.append(dict(seed=seed, vocab=vocab, scale=scale, params=p, text=text, kept=kept,
                          expect=result if kept <= 24 else result[:8] + result[kept // 2:kept // 2 + 8] + result[-8:]))
    out = sys.argv[1] if len(sys.argv) > 1 else "tests/text/sampler_fixtures.json"
    with open(out, "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]\n")
    print(f"{len(cases)} cases, kept {sorted(c['kept'] for c in cases)[::24]}")


if __name__ == "__main__":
    main()
