// The product and the row lookup in every format on a Vulkan device, against ref.
#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "backend/ref/ref.h"
#include "device_harness.h"
#include "vulkan_fixture.h"

namespace brass {
namespace {

// x = row of a table in the format; y = W x with W in the format: 37 rows.
std::shared_ptr<const Graph> product_graph(Type type, uint32_t cols) {
  GraphBuilder b;
  constexpr uint32_t kRows = 37;
  const WeightId table = b.matrix("table", type, 50, cols, 1), w = b.matrix("w", type, kRows, cols, 0.1f);
  const ValueId x = b.op(OpKind::kEmbed, "embed", {}, Rows::kT, cols, {table});
  return b.finish(b.op(OpKind::kLinear, "product", {x}, Rows::kT, kRows, {w}, LinearAttrs{}));
}

void expect_products_as_ref(const Format* format, uint32_t cols,
                            std::initializer_list<size_t> numbers_of_rows) {
  const auto graph = product_graph(format->type, cols);
  auto device =
      make_vulkan_device({.prompts = Prompts::kPlain});  // prompt_test.cpp, dots_test.cpp judge the others
  ASSERT_TRUE(device.has_value()) << device.error().message;
  const Caps caps = (*device)->caps();
  Runner gpu(std::move(*device), graph, caps), ref(make_ref_device({}), graph, caps);
  for (const size_t rows : numbers_of_rows) {
    const std::vector<int32_t> ids = random_ids(rows, 50, 3);
    const Logits found = gpu.text(0, ids), expected = ref.text(0, ids);
    double worst = 0, squares = 0;
    for (size_t t = 0; t < ids.size(); t++)
      for (size_t n = 0; n < expected[t].size(); n++) {
        worst = std::max(worst, std::abs(static_cast<double>(found[t][n]) - expected[t][n]));
        squares += static_cast<double>(expected[t][n]) * expected[t][n];
      }
    const double scale = std::sqrt(squares / static_cast<double>(ids.size() * expected[0].size()));
    EXPECT_LT(worst / scale, 1e-5) << format->name << ", " << cols << " columns, " << rows << " rows";
  }
}

// Few rows in int8, which load blocks from wherever they begin: an odd number of them in a row. Many rows value by value.
TEST(VulkanFormats, ProductsAgreeWithRef) {
  if (!vulkan_is_there()) GTEST_SKIP();
  for (const Format* format : all_formats()) {
    expect_products_as_ref(format, 5 * std::max(format->block_values, 32u), {1, 6});
    expect_products_as_ref(format, 512, {70});
  }
}

}  // namespace
}  // namespace brass
