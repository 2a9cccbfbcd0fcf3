// What every shader has: memory by address, the batch.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_control_flow_attributes : require

layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Floats {
  float v[];
};
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Output {
  float v[];
};
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Ints {
  int v[];
};
layout(buffer_reference, std430, buffer_reference_align = 1) readonly buffer Bytes {
  uint8_t v[];
};

// Row r of a slice as a row of its tensor (RowSlice of graph/graph.h).
uint row_of_slice(uint r, uint first, uint run, uint stride) {
  return run == 0 ? first + r : first + r / run * stride + r % run;
}

#define kInfinity uintBitsToFloat(0x7f800000u)

// ActKind of graph/act_kind.h, in its order.
const uint kSilu = 0, kGeluTanh = 1, kGeluErf = 2, kRelu = 3, kReluSquared = 4, kSigmoid = 5, kIdentity = 6,
           kClampedSwiglu = 7;

float sigmoid(float x) { return 1.0 / (1.0 + exp(-x)); }
// ln(1 + e^x) without overflow, and exact where e^x is below a rounding of 1.
float softplus(float x) { return x > 20.0 ? x : max(x, 0.0) + log(1.0 + exp(-abs(x))); }
float tanh_of(float x) { return 1.0 - 2.0 / (1.0 + exp(2.0 * x)); }

// erf with an error below 1.2e-7 (Numerical Recipes' Chebyshev fit of erfc).
float erf(float x) {
  precise const float z = abs(x), t = 1.0 / (1.0 + 0.5 * z);
  precise float y = 0.17087277;
  y = -0.82215223 + t * y;
  y = 1.48851587 + t * y;
  y = -1.13520398 + t * y;
  y = 0.27886807 + t * y;
  y = -0.18628806 + t * y;
  y = 0.09678418 + t * y;
  y = 0.37409196 + t * y;
  y = 1.00002368 + t * y;
  y = -1.26551223 + t * y;
  precise const float rest = t * exp(-z * z + y);
  return x >= 0.0 ? 1.0 - rest : rest - 1.0;
}

// The same bits in every program: nothing is contracted.
float activate(uint kind, float x) {
  switch (kind) {
    case kSilu:
      return x * sigmoid(x);
    case kGeluTanh: {
      precise const float inner = 0.7978845608 * (x + 0.044715 * x * x * x);
      precise const float y = 0.5 * x * (1.0 + tanh_of(inner));
      return y;
    }
    case kGeluErf: {
      precise const float y = 0.5 * x * (1.0 + erf(x * 0.7071067812));
      return y;
    }
    case kRelu:
      return isnan(x) ? x : max(x, 0.0);
    case kReluSquared:
      return isnan(x) ? x : max(x, 0.0) * max(x, 0.0);
    case kSigmoid:
      return sigmoid(x);
    case kClampedSwiglu: {
      const float g = isnan(x) ? x : min(x, 7.0);
      return g * sigmoid(1.702 * g);
    }
  }
  return x;
}
