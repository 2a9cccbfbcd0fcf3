// The product and the row lookup in every format on a Vulkan device, against ref.
#include <cmath>

#include "backend/ref/ref.h"
#include "device_harness.h"
#include "vulkan_fixture.h"

namespace brass {
namespace {

// x = row of a table in the format; y = W x with W in the format: 37 rows of 512 (of two blocks at least).
std::shared_ptr<const Graph> product_graph(Type type) {
  GraphBuilder b;
  constexpr uint32_t kCols = 512, kRows = 37;
  const WeightId table = b.matrix("table", type, 50, kCols, 1), w = b.matrix("w", type, kRows, kCols, 0.1f);
  const ValueId x = b.op(OpKind::kEmbed, "embed", {}, Rows::kT, kCols, {table});
  return b.finish(b.op(OpKind::kLinear, "product", {x}, Rows::kT, kRows, {w}, LinearAttrs{}));
}

TEST(VulkanFormats, ProductsAgreeWithRef) {
  if (!vulkan_is_there()) GTEST_SKIP();
  for (const Format* format : all_formats()) {
    const auto graph = product_graph(format->type);
    auto device = make_vulkan_device({.use_matrix_unit = false});  // prompt_test.cpp judges that
    ASSERT_TRUE(device.has_value()) << device.error().message;
    const Caps caps = (*device)->caps();
    Runner gpu(std::move(*device), graph, caps), ref(make_ref_device({}), graph, caps);
    for (const size_t rows : {1, 6, 70}) {  // one, few, many
      const std::vector<int32_t> ids = random_ids(rows, 50, 3);
      const Logits found = gpu.text(0, ids), expected = ref.text(0, ids);
      double worst = 0, squares = 0;
      for (size_t t = 0; t < ids.size(); t++)
        for (size_t n = 0; n < expected[t].size(); n++) {
          worst = std::max(worst, std::abs(static_cast<double>(found[t][n]) - expected[t][n]));
          squares += static_cast<double>(expected[t][n]) * expected[t][n];
        }
      const double scale = std::sqrt(squares / static_cast<double>(ids.size() * expected[0].size()));
      EXPECT_LT(worst / scale, 1e-5) << format->name << ", " << rows << " rows";
    }
  }
}

}  // namespace
}  // namespace brass
