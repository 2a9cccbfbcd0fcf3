// Operations with a state of ref against closed forms in double: a convolution as one sum, a state space as attention
// with decaying weights, a delta net as products of whole matrices.
#include <cmath>

#include "backend/ref/ref.h"
#include "state_harness.h"

namespace brass {
namespace {

constexpr int32_t kRows = 23;

// Weight i of the graph as numbers: inputs are its first ones.
std::vector<float> floats(const Graph& graph, size_t i) {
  std::vector<float> values(graph.weights[i].data.size() / sizeof(float));
  std::memcpy(values.data(), graph.weights[i].data.data(), graph.weights[i].data.size());
  return values;
}

// The outputs of a text in two steps, the second of which goes on from a snapshot of the first.
Logits outputs(const std::shared_ptr<const Graph>& graph) {
  StateRunner r(make_ref_device({}), graph);
  Logits rows = r.step({{0, 11, {-1, 3}, {{8, 2}}, 1}});
  rows.erase(rows.begin());
  rows.resize(9);
  for (std::vector<float>& row : r.step({{9, kRows, {2, 2}}})) rows.push_back(std::move(row));
  return rows;
}

void expect_near(const Logits& found, const std::vector<double>& expected) {
  size_t i = 0;
  for (const auto& row : found)
    for (const float value : row) {
      ASSERT_LT(i, expected.size());
      ASSERT_NEAR(value, expected[i], 3e-6 * (1 + std::fabs(expected[i]))) << "value " << i;
      i++;
    }
  EXPECT_EQ(i, expected.size());
}

double softplus(double x) { return std::log(1 + std::exp(x)); }

TEST(RefRecurrent, Convolution) {
  const uint32_t channels = 7, taps = 4;
  const auto graph = conv_graph(channels, taps, true, true);
  const std::vector<float> u = floats(*graph, 0), w = floats(*graph, 1), bias = floats(*graph, 2);
  std::vector<double> expected;
  for (int32_t t = 0; t < kRows; t++)
    for (uint32_t c = 0; c < channels; c++) {
      double x = static_cast<double>(bias[c]);
      for (int32_t back = 0; back < 4 && back <= t; back++)
        x += static_cast<double>(w[c * taps + 3 - static_cast<uint32_t>(back)]) *
             static_cast<double>(u[static_cast<uint32_t>(t - back) * channels + c]);
      expected.push_back(x / (1 + std::exp(-x)));
    }
  expect_near(outputs(graph), expected);
}

TEST(RefRecurrent, StateSpace) {
  const uint32_t heads = 4, dim = 5, state = 3, groups = 2, width = heads * dim + 2 * groups * state;
  const auto graph = ssm_graph(heads, dim, state, groups);
  const std::vector<float> x = floats(*graph, 0), dt = floats(*graph, 1), a = floats(*graph, 2),
                           d = floats(*graph, 3), bias = floats(*graph, 4);
  const auto at = [&](int32_t t, uint32_t i) {
    return static_cast<double>(x[static_cast<uint32_t>(t) * width + i]);
  };
  const auto step = [&](int32_t t, uint32_t h) {
    return softplus(static_cast<double>(dt[static_cast<uint32_t>(t) * heads + h]) +
                    static_cast<double>(bias[h]));
  };
  std::vector<double> expected;
  for (int32_t t = 0; t < kRows; t++)
    for (uint32_t h = 0; h < heads; h++)
      for (uint32_t p = 0; p < dim; p++) {
        double y = static_cast<double>(d[h]) * at(t, h * dim + p), decay = 0;
        for (int32_t s = t; s >= 0; s--) {
          double meet = 0;  // C of now · B of then
          for (uint32_t n = 0; n < state; n++)
            meet += at(t, heads * dim + groups * state + h / 2 * state + n) *
                    at(s, heads * dim + h / 2 * state + n);
          y += std::exp(decay) * step(s, h) * meet * at(s, h * dim + p);
          decay += step(s, h) * static_cast<double>(a[h]);
        }
        expected.push_back(y);
      }
  expect_near(outputs(graph), expected);
}

// o_t = Σ_s q_tᵀ (Π_{s < r ≤ t} e^g_r (1 − β_r k_r k_rᵀ)) k_s β_s v_s
TEST(RefRecurrent, DeltaNet) {
  const uint32_t k_heads = 2, v_heads = 4, k_dim = 6, v_dim = 3,
                 width = 2 * k_heads * k_dim + v_heads * v_dim;
  for (const bool tiled : {true, false}) {
    const auto graph = delta_graph(k_heads, v_heads, k_dim, v_dim, tiled);
    const std::vector<float> qkv = floats(*graph, 0), b = floats(*graph, 1), alpha = floats(*graph, 2),
                             decay = floats(*graph, 3), bias = floats(*graph, 4);
    const auto unit = [&](int32_t t, uint32_t first) {
      std::vector<double> y(k_dim);
      double length = std::sqrt(1e-6);
      for (uint32_t i = 0; i < k_dim; i++) {
        y[i] = static_cast<double>(qkv[static_cast<uint32_t>(t) * width + first + i]);
        length = std::hypot(length, y[i]);
      }
      for (double& value : y) value /= length;
      return y;
    };
    std::vector<double> expected;
    for (int32_t t = 0; t < kRows; t++)
      for (uint32_t h = 0; h < v_heads; h++) {
        const uint32_t from = (tiled ? h % 2 : h / 2) * k_dim;
        std::vector<double> row = unit(t, from), o(v_dim, 0.0);  // q, then what the matrices make of it
        for (int32_t s = t; s >= 0; s--) {
          const size_t gate = static_cast<size_t>(s) * v_heads + h;
          const std::vector<double> k = unit(s, k_heads * k_dim + from);
          const double beta = 1 / (1 + std::exp(-static_cast<double>(b[gate])));
          const double kept =
              std::exp(static_cast<double>(decay[h]) *
                       softplus(static_cast<double>(alpha[gate]) + static_cast<double>(bias[h])));
          double meet = 0;
          for (uint32_t i = 0; i < k_dim; i++) meet += row[i] * k[i];
          for (uint32_t j = 0; j < v_dim; j++)
            o[j] += meet * beta *
                    static_cast<double>(
                        qkv[static_cast<uint32_t>(s) * width + 2 * k_heads * k_dim + h * v_dim + j]);
          for (uint32_t i = 0; i < k_dim; i++) row[i] = kept * (row[i] - beta * meet * k[i]);
        }
        for (const double value : o) expected.push_back(value / std::sqrt(static_cast<double>(k_dim)));
      }
    expect_near(outputs(graph), expected);
  }
}

}  // namespace
}  // namespace brass
