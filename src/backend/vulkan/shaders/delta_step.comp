#version 460
// The gated delta rule of few rows (delta_net.comp has the rule). A workgroup is one v head of one sequence; a column of
// its state is held by kParts threads. Where it is asked for, what follows too: the norm of the head, its gate, int8.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "subgroups.glsl"
#include "int8.glsl"
#include "recurrent.glsl"
#define OVERLAP_ID 6
#include "overlap.glsl"
layout(constant_id = 2) const uint kKeyDim = 128;
layout(constant_id = 3) const uint kValueDim = 128;
layout(constant_id = 4) const uint kTiled = 0;
layout(constant_id = 5) const uint kGate = 0;  // 0: none; else 1 + its ActKind
layout(push_constant) uniform Push {
  Floats qkv, b, dt, decay, bias;
  uint64_t y, meta;  // f32; kGate: codes and pairs
  Floats gate;
  uint64_t gain;
  Ints parts, snapshots;
  uint64_t pool;
  uint page_bytes, state_at;
  uint heads;                                // of k, of v · 65536
  uint strides_qkv, strides_dt, strides_y;   // in 16 values: of qkv and b, of dt and gate; of y (bytes where codes) and meta
  float eps;
  uint after_counter;                        // kOverlap: bytes from the counter to qkv
} p;
uint64_t counter() { return uint64_t(p.qkv) - p.after_counter; }
const uint kParts = kThreads / kValueDim, kOwn = kKeyDim / kParts;
shared float q[kKeyDim], k[kKeyDim], scales[3];  // of q, of k, and q · k
shared float old[kThreads], seen[kThreads], made[kValueDim];

uint low(uint strides) { return (strides & 65535) * 16; }
uint high(uint strides) { return (strides >> 16) * 16; }
uint64_t state(int page) {
  return p.pool + uint64_t(page) * p.page_bytes + p.state_at + uint64_t(gl_WorkGroupID.x) * kKeyDim * kValueDim * 4;
}
// Element i of the thread's share of its column.
uint place(uint i) { return (thread_index() / kValueDim * kOwn + i) * kValueDim + thread_index() % kValueDim; }

void keep(int page, float s[kOwn]) {
  Output to = Output(state(page));
  [[unroll]] for (uint i = 0; i < kOwn; ++i) to.v[place(i)] = s[i];
}

// Lengths of q and k, and their product, by one subgroup each or in turn.
void find_scales() {
  for (uint which = gl_SubgroupID; which < 3; which += kSubgroups) {
    precise float sum = 0.0;
    for (uint i = gl_SubgroupInvocationID; i < kKeyDim; i += kLanes)
      sum += (which == 1 ? k[i] : q[i]) * (which == 0 ? q[i] : k[i]);
    sum = subgroupAdd(sum);
    if (gl_SubgroupInvocationID == 0) scales[which] = which == 2 ? sum : 1.0 / sqrt(sum + 1e-6);
  }
}

// Blocks of 32 values go by subgroups, of which the first eight lanes have four values each. What they are multiplied by is
// loaded long before it is wanted.
const uint kBlocks = kValueDim / 32;
const uint kBlockTurns = kGate != 0 ? (kBlocks + kSubgroups - 1) / kSubgroups : 1;
uint quad_of(uint turn) {
  return min(gl_SubgroupID + turn * kSubgroups, kBlocks - 1) * 8 + min(gl_SubgroupInvocationID, 7);
}
void load_gates(uint t, out vec4 gates[kBlockTurns], out vec4 gains[kBlockTurns]) {
  [[unroll]] for (uint j = 0; j < kBlockTurns; ++j) {
    gates[j] = Vectors(uint64_t(p.gate) + 4ul * (t * high(p.strides_dt) + gl_WorkGroupID.x * kValueDim)).v[quad_of(j)];
    gains[j] = p.gain != 0 ? Vectors(p.gain).v[quad_of(j)] : vec4(1.0);
  }
}

// Norm, gate and int8 of a head, as gate_quant.comp has them.
void store_gated(uint t, vec4 gates[kBlockTurns], vec4 gains[kBlockTurns]) {
  if (gl_SubgroupID >= kBlocks) return;
  const uint lane = gl_SubgroupInvocationID;
  precise float squares = 0.0;
  for (uint i = lane; i < kValueDim; i += kLanes) squares += made[i] * made[i];
  squares = subgroupAdd(squares);
  precise const float factor = 1.0 / sqrt(squares / float(kValueDim) + p.eps);
  [[unroll]] for (uint j = 0; j < kBlockTurns; ++j) {
    const uint part = gl_SubgroupID + j * kSubgroups, block = gl_WorkGroupID.x * kBlocks + part;
    if (part >= kBlocks) break;
    vec4 x = vec4(0.0);
    if (lane < 8) {
      [[unroll]] for (uint k = 0; k < 4; ++k) {
        precise float y = made[32 * part + 4 * lane + k];
        y *= factor;
        y *= gains[j][k];
        x[k] = activate(kGate - 1, gates[j][k]) * y;
      }
    }
    uvec2 meta;
    const uint word = quantize_by_lanes(x, meta);
    if (lane < 8) WordsOut(p.y + uint64_t(t * low(p.strides_y))).v[8 * block + lane] = word;
    if (lane == 0) PairsOut(p.meta).v[t * high(p.strides_y) + block] = meta;
  }
}

void main() {
  const uint thread = thread_index(), h = gl_WorkGroupID.x, column = thread % kValueDim, share = thread / kValueDim;
  const uint k_heads = p.heads & 65535, v_heads = p.heads >> 16;
  const uint from = kTiled != 0 ? h % k_heads : h / (v_heads / k_heads);
  const Part part = part_at(p.parts, gl_WorkGroupID.y);
  float s[kOwn];
  if (part.from < 0) {
    [[unroll]] for (uint i = 0; i < kOwn; ++i) s[i] = 0.0;
  } else {
    Floats from_state = Floats(state(part.from));
    [[unroll]] for (uint i = 0; i < kOwn; ++i) s[i] = from_state.v[place(i)];
  }
  wait_for_input(counter());  // no other program of the step writes these states
  for (uint t = part.begin; t < part.end; ++t) {
    const uint at = t * low(p.strides_qkv), keys = k_heads * kKeyDim;
    vec4 gates[kBlockTurns], gains[kBlockTurns];
    if (kGate != 0) load_gates(t, gates, gains);
    const float v = p.qkv.v[at + 2 * keys + h * kValueDim + column], b = p.b.v[t * high(p.strides_qkv) + h];
    const float decay = p.decay.v[h], dt = p.dt.v[t * low(p.strides_dt) + h] + p.bias.v[h];
    barrier();
    for (uint i = thread; i < kKeyDim; i += kThreads) {
      q[i] = p.qkv.v[at + from * kKeyDim + i];
      k[i] = p.qkv.v[at + keys + from * kKeyDim + i];
    }
    barrier();
    find_scales();
    float old_sum = 0.0, seen_sum = 0.0;
    [[unroll]] for (uint i = 0; i < kOwn; ++i) {
      old_sum = fma(s[i], k[share * kOwn + i], old_sum);
      seen_sum = fma(s[i], q[share * kOwn + i], seen_sum);
    }
    old[thread] = old_sum;
    seen[thread] = seen_sum;
    const float kept = exp(decay * softplus(dt)), beta = sigmoid(b);
    barrier();
    old_sum = seen_sum = 0.0;
    for (uint i = 0; i < kParts; ++i) {
      old_sum += old[i * kValueDim + column];
      seen_sum += seen[i * kValueDim + column];
    }
    precise const float delta = beta * (v - kept * old_sum * scales[1]) * scales[1];
    [[unroll]] for (uint i = 0; i < kOwn; ++i) s[i] = fma(k[share * kOwn + i], delta, kept * s[i]);
    if (share == 0) {
      precise const float y = (kept * seen_sum + delta * scales[2]) * scales[0] / sqrt(float(kKeyDim));
      if (kGate == 0) {
        Output(p.y).v[t * low(p.strides_y) + h * kValueDim + column] = y;
      } else {
        made[column] = y;
      }
    }
    if (p.snapshots.v[t] >= 0) keep(p.snapshots.v[t], s);
    if (kGate != 0) {
      barrier();
      store_gated(t, gates, gains);
    }
  }
  keep(part.to, s);
  say_done(counter());
}
