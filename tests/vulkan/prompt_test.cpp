// Steps of many rows on a Vulkan device against ref: products in every format, experts, attention in every form, by the
// matrix unit where there is one; that each program is the one that runs; that bits repeat and do not depend on the cut.
#include "prompt_harness.h"

namespace brass {
namespace {

TEST(VulkanPrompt, ProductsInEveryFormat) {
  if (!vulkan_is_there()) GTEST_SKIP();
  for (const Format* format : all_formats()) {
    SCOPED_TRACE(format->name);
    const Made made = make(product_graph(format->type, 37, 512, false), {text(0, 70, 50, 3)});
    const bool halves = has_matrix_unit() && format->type != Type::F32;
    EXPECT_LT(worst_row(made), halves ? 3e-3 : 2e-5);
    std::string name(format->name);
    std::ranges::transform(name, name.begin(), [](char c) { return static_cast<char>(std::tolower(c)); });
    const uint64_t direct = count(made.programs, "direct_" + name);
    EXPECT_EQ(direct + count(made.programs, "expand_" + name) > 0, halves);
    EXPECT_EQ(direct + count(made.programs, "matrix_product") > 0, halves);
  }
}

TEST(VulkanPrompt, ProductsOfEveryShape) {
  if (!vulkan_is_there()) GTEST_SKIP();
  struct Shape {
    Type type;
    uint32_t rows, cols, tokens;
  };
  for (const Shape& s : std::vector<Shape>{{Type::Q8_0, 1, 32, 9},
                                           {Type::Q8_0, 130, 96, 33},
                                           {Type::F16, 67, 40, 129},
                                           {Type::F16, 31, 7, 12},
                                           {Type::Q4_K, 300, 768, 64},
                                           {Type::Q6_K, 257, 256, 200},
                                           {Type::BF16, 128, 128, 128}}) {
    SCOPED_TRACE(fmt::format("{} × {}, {} tokens", s.rows, s.cols, s.tokens));
    for (const bool unit : {true, false}) {
      const Made made = make(product_graph(s.type, s.rows, s.cols, true), {text(0, s.tokens, 50, 4)},
                             KvType::kF32, unit ? best_prompts() : Prompts::kPlain);
      EXPECT_LT(worst_row(made), unit && has_matrix_unit() ? 3e-3 : 2e-5);
    }
  }
}

// Rows of a step alone, in other steps and behind others: the same bits.
TEST(VulkanPrompt, RowsOfProductsAreTheirOwn) {
  if (!vulkan_is_there()) GTEST_SKIP();
  const auto graph = product_graph(Type::Q4_K, 200, 512, true);
  auto device = gpu_device({.prompts = best_prompts()});
  const Caps caps = device->caps();
  Runner gpu(std::move(device), graph, caps);
  const std::vector<int32_t> ids = random_ids(150, 50, 8);
  const Logits all = gpu.text(0, ids);
  for (const auto& [begin, n] :
       std::vector<std::pair<size_t, size_t>>{{0, 9}, {31, 64}, {140, 10}, {3, 100}}) {
    const std::vector<int32_t> some(ids.begin() + static_cast<long>(begin),
                                    ids.begin() + static_cast<long>(begin + n));
    const Logits alone = gpu.text(0, some);
    EXPECT_TRUE(same_bits(
        alone, Logits(all.begin() + static_cast<long>(begin), all.begin() + static_cast<long>(begin + n))))
        << n << " rows from " << begin;
  }
}

// Weights that scratch memory does not hold at once: the same bits.
TEST(VulkanPrompt, PiecesChangeNoBit) {
  if (!vulkan_is_there()) GTEST_SKIP();
  const auto product = product_graph(Type::Q4_0, 700, 96, true);
  const auto experts = build_tiny(expert_model());
  for (const auto& [graph, vocab] :
       {std::pair{product, 50u}, std::pair{std::shared_ptr<const Graph>(experts), 77u}}) {
    std::vector<Logits> found;
    std::vector<Programs> programs(2);
    for (const uint64_t bytes : {uint64_t{1} << 30, uint64_t{1} << 16}) {
      auto device = gpu_device({.prompts = best_prompts(), .piece_bytes = bytes}, &programs[found.size()]);
      const Caps caps = device->caps();
      Runner gpu(std::move(device), graph, caps, {}, 4, 8, KvType::kF16);
      found.push_back(gpu.text(0, random_ids(40, vocab, 8)));
    }
    EXPECT_TRUE(same_bits(found[0], found[1]));
    if (has_matrix_unit()) {
      EXPECT_GT(count(programs[1], "matrix_product"), count(programs[0], "matrix_product"));
    }
  }
}

// Values that f16 cannot hold: the row is scaled; a weight beyond it is computed in f32.
TEST(VulkanPrompt, LargeValuesStayFinite) {
  if (!vulkan_is_there()) GTEST_SKIP();
  GraphBuilder b;
  std::vector<float> values = random_floats(16 * 64, 1, 1e9f);
  const ValueId x = b.input("x", 64, values);
  std::vector<std::byte> bytes(33 * 64 * 2);
  for (size_t i = 0; i < bytes.size() / 2; i++) {
    const auto bf16 = static_cast<uint16_t>(0x4800 + i % 64);  // 131072 and more
    std::memcpy(bytes.data() + 2 * i, &bf16, 2);
  }
  const WeightId w = b.weight("w", WeightKind::kMatrix, Type::BF16, 33, 64, std::move(bytes));
  const Made made = make(b.finish(b.op(OpKind::kLinear, "product", {x}, Rows::kT, 33, {w}, LinearAttrs{})),
                         {text(0, 12, 16, 1)});
  EXPECT_LT(difference(made.gpu, made.ref), 1e-4);
  EXPECT_EQ(count(made.programs, "matrix_product"), 0u);
}

// ---- whole small models, many rows of several sequences at once

void check_model(const char* name, const TinyModel& model, KvType kv, double bound, bool flash) {
  SCOPED_TRACE(name);
  const auto graph = build_tiny(model);
  std::vector<TokenRow> first = text(0, 40, model.vocab, 1), second = text(0, 75, model.vocab, 2, 40);
  for (const TokenRow& row : text(1, 9, model.vocab, 3)) second.push_back(row);
  for (const TokenRow& row : text(-1, 5, model.vocab, 4)) second.push_back(row);
  for (TokenRow& row : second) row.want = row.sequence >= 0;
  const std::vector<std::vector<TokenRow>> steps =
      model.causal ? std::vector<std::vector<TokenRow>>{first, second}
                   : std::vector<std::vector<TokenRow>>{text(0, 75, model.vocab, 2)};
  const Made made = make(graph, steps, kv);
  EXPECT_LT(difference(made.gpu, made.ref), bound);
  EXPECT_EQ(count(made.programs, "flash") > 0, flash && has_matrix_unit());
  EXPECT_EQ(count(made.programs, "attention") > 0, !(flash && has_matrix_unit()));
  EXPECT_EQ(count(made.programs, "moe_group") > 0, model.experts > 0 && has_matrix_unit());
}

TEST(VulkanPrompt, ModelsAgreeWithRef) {
  if (!vulkan_is_there()) GTEST_SKIP();
  TinyModel wide = plain_model();
  wide.q_heads = wide.kv_heads = 2, wide.head_dim = 256;
  for (const KvType kv : {KvType::kF16, KvType::kF32, KvType::kInt8}) {
    const bool flash = kv != KvType::kF32;
    const double bound = kv == KvType::kInt8 ? 0.1 : 0.02;  // ref keeps f32
    check_model("plain", plain_model(), kv, bound, flash);
    check_model("qwen", qwen_like(), kv, bound, flash);
    check_model("gemma", gemma_like(), kv, bound, flash);
    check_model("sinks", sink_like(), kv, bound, flash);
    check_model("encoder", encoder_like(), kv, bound, flash);
    check_model("ragged", ragged_model(), kv, bound, flash);
    check_model("wide heads", wide, kv, bound, flash);
    check_model("experts", expert_model(), kv, bound, flash);
    check_model("ragged experts", ragged_expert_model(), kv, bound, flash);
  }
}

TEST(VulkanPrompt, CutsAndNeighboursChangeNoBit) {
  if (!vulkan_is_there()) GTEST_SKIP();
  for (const TinyModel& model : {plain_model(), gemma_like(), sink_like(), expert_model()})
    expect_cuts_change_no_bit(model, best_prompts());
}

}  // namespace
}  // namespace brass
