// Every kind of malformed file gives an error that names the field, key or tensor, and allocates next to
// nothing.
#include <gtest/gtest.h>

#include <limits>

#include "counting_new.h"
#include "raw_file.h"

namespace brass::gguf {
namespace {

using testing::AssertionFailure;
using testing::AssertionResult;
using testing::AssertionSuccess;

AssertionResult refused(const RawFile& file, const std::string& wanted) {
  const AllocationPeak peak;
  const std::string error = file.error();
  if (peak.bytes() > (1 << 20)) return AssertionFailure() << peak.bytes() << " bytes allocated";
  if (error.find(wanted) != std::string::npos) return AssertionSuccess();
  return AssertionFailure() << "wanted '" << wanted << "', got '" << error << "'";
}

constexpr uint64_t kHuge = uint64_t{1} << 63;

TEST(Malformed, NotGguf) {
  const auto text = [](std::string_view content) {
    const auto file = File::from_memory(std::as_bytes(std::span(content)), "x.gguf");
    return file ? "" : file.error().message;
  };
  EXPECT_EQ(text("hello world"), "x.gguf: is not a GGUF file: it does not begin with 'GGUF'");
  EXPECT_EQ(text(""), "x.gguf: is not a GGUF file: it does not begin with 'GGUF'");
  EXPECT_EQ(text("GG"), "x.gguf: is not a GGUF file: it does not begin with 'GGUF'");
  EXPECT_EQ(text("GGUF"), "x.gguf: the file ends inside its header");
  EXPECT_EQ(text("version https://git-lfs.github.com/spec/v1"),
            "x.gguf: is a Git LFS pointer, not the model itself");
  EXPECT_EQ(text("<!DOCTYPE html>"), "x.gguf: is a web page, not a GGUF file");
  EXPECT_EQ(text("PK\x03\x04 zip"), "x.gguf: is a PyTorch or ZIP file, not GGUF");
  EXPECT_EQ(text("\x10\1\1\1\1\1\1\1{\"a\":1}"), "x.gguf: is a safetensors file, not GGUF");
  EXPECT_EQ(text("tjgg...."), "x.gguf: is a GGML file of before GGUF: not supported");
}

TEST(Malformed, Versions) {
  EXPECT_TRUE(refused(RawFile(0, 0, 0x03000000), "is a big-endian GGUF file (version 3): not supported"));
  EXPECT_TRUE(refused(RawFile(0, 0, 0x02000000), "is a big-endian GGUF file (version 2): not supported"));
  EXPECT_TRUE(refused(RawFile(0, 0, 1), "is GGUF version 1: supported are 2 and 3"));
  EXPECT_TRUE(refused(RawFile(0, 0, 4), "is GGUF version 4: supported are 2 and 3"));
  EXPECT_TRUE(refused(RawFile(0, 0, 0), "is GGUF version 0: supported are 2 and 3"));
  EXPECT_EQ(RawFile(0, 0, 2).error(), "");
  EXPECT_EQ(RawFile(0, 0, 3).error(), "");
}

TEST(Malformed, Counts) {
  EXPECT_TRUE(refused(RawFile(kHuge, 0), "tensor_count is 9223372036854775808: the limit is 1048576"));
  EXPECT_TRUE(refused(RawFile(0, kHuge), "metadata_kv_count is 9223372036854775808: the limit is 1048576"));
  EXPECT_TRUE(refused(RawFile(UINT64_MAX, UINT64_MAX), "tensor_count is"));
  EXPECT_TRUE(refused(RawFile(1000000, 0), "tensor_count is 1000000, but only 8 bytes follow"));
  EXPECT_TRUE(
      refused(RawFile(0, 1000000).zeros(1000), "metadata_kv_count is 1000000, but only 1000 bytes follow"));
  EXPECT_TRUE(refused(RawFile(0, 2).key("a", MetaType::U64).put(kHuge), "metadata_kv_count is 2, but only"));
  EXPECT_TRUE(
      refused(RawFile(0, 2).key("a", MetaType::U64).put(kHuge).put(kHuge), "the name of key 1 reaches"));
}

TEST(Malformed, KeysAndStrings) {
  const auto one = [] { return RawFile(0, 1); };
  EXPECT_TRUE(refused(one().put(uint64_t{1} << 60).zeros(64), "the name of key 0 reaches past the end"));
  EXPECT_TRUE(refused(one().put(UINT64_MAX).zeros(64), "the name of key 0 reaches past the end"));
  EXPECT_TRUE(refused(one().string("").zeros(64), "the name of key 0 has 0 bytes: 1 to 65535 are allowed"));
  EXPECT_TRUE(refused(one().string(std::string(65536, 'k')).zeros(64), "the name of key 0 has 65536 bytes"));
  EXPECT_TRUE(
      refused(one().key("a.b", MetaType(13)).zeros(64), "key \"a.b\": has the unknown value type 13"));
  EXPECT_TRUE(
      refused(one().key("a.b", MetaType(UINT32_MAX)).zeros(64), "has the unknown value type 4294967295"));
  EXPECT_TRUE(refused(one().key("a.b", MetaType::String).put(uint64_t{1} << 60).zeros(64),
                      "key \"a.b\": a string reaches past the end of the file"));
  EXPECT_TRUE(
      refused(one().key("a.b", MetaType::U64).put(1u), "key \"a.b\": the file ends inside the value"));
  EXPECT_TRUE(refused(RawFile(0, 2).key("a", MetaType::U8).put('a').key("a", MetaType::U8).put('b').zeros(99),
                      "key \"a\": stands twice in the file"));
  // Escape sequences of terminals do not reach the terminal.
  EXPECT_TRUE(refused(one().key("\x1b[2J\x9b", MetaType(13)).zeros(64), R"(key "\x1b[2J\x9b": has)"));
}

TEST(Malformed, Arrays) {
  const auto array = [](MetaType element, uint64_t count) {
    return RawFile(0, 1).key("list", MetaType::Array).put(static_cast<uint32_t>(element)).put(count);
  };
  EXPECT_TRUE(refused(
      array(MetaType::U64, uint64_t{1} << 61).zeros(64),
      "key \"list\": says it is an array of 2305843009213693952 u64 values, but only 64 bytes follow"));
  EXPECT_TRUE(refused(array(MetaType::U8, UINT64_MAX).zeros(64), "key \"list\": says it is an array of"));
  EXPECT_TRUE(refused(array(MetaType::String, kHuge).zeros(64), "key \"list\": says it is an array of"));
  EXPECT_TRUE(
      refused(array(MetaType::Array, uint64_t{1} << 60).zeros(64), "key \"list\": says it is an array of"));
  EXPECT_TRUE(refused(array(MetaType::String, 2).string("a").put(uint64_t{1} << 60),
                      "key \"list\": element 1 reaches past the end of the file"));
  EXPECT_TRUE(
      refused(array(MetaType(77), 1).zeros(64), "key \"list\": has the unknown array element type 77"));
  RawFile deep = array(MetaType::Array, 1);
  for (int i = 0; i < 100000; i++) deep.put(static_cast<uint32_t>(MetaType::Array)).put(uint64_t{1});
  EXPECT_TRUE(refused(deep, "arrays are nested more than 4 deep"));
  RawFile wide = array(MetaType::Array, 100000);  // each an empty array of arrays
  for (int i = 0; i < 100000; i++) wide.put(static_cast<uint32_t>(MetaType::Array)).put(uint64_t{0});
  EXPECT_EQ(wide.error(), "");  // odd, but legal
}

TEST(Malformed, Alignment) {
  const auto with = [](uint32_t alignment) {
    return RawFile(0, 1).key("general.alignment", MetaType::U32).put(alignment);
  };
  for (const uint32_t bad : {0u, 1u, 3u, 4u, 48u, 0x80000000u, 0xffffffffu}) {
    EXPECT_TRUE(
        refused(with(bad), fmt::format("key \"general.alignment\": is {}, not a power of two from 8", bad)));
  }
  for (const uint32_t good : {8u, 16u, 32u, 64u, 65536u, 1u << 20}) EXPECT_EQ(with(good).error(), "");
  EXPECT_TRUE(refused(RawFile(0, 1).key("general.alignment", MetaType::String).string("32"),
                      "key \"general.alignment\": is string \"32\", not a non-negative integer"));
  EXPECT_TRUE(refused(RawFile(0, 1).key("general.alignment", MetaType::I32).put(-32),
                      "key \"general.alignment\": is i32 -32, not a non-negative integer"));
}

TEST(Malformed, TensorShapes) {
  const auto tensor = [](const std::vector<uint64_t>& dims, uint32_t type = 0) {
    return RawFile(1, 0).tensor("w", dims, type, 0).pad().zeros(4096);
  };
  EXPECT_EQ(tensor({32, 32}).error(), "");
  EXPECT_TRUE(refused(tensor({}), "tensor \"w\": has 0 dimensions: 1 to 4 are allowed"));
  EXPECT_TRUE(refused(tensor({1, 1, 1, 1, 1}), "tensor \"w\": has 5 dimensions"));
  EXPECT_TRUE(refused(tensor({32, 0}), "tensor \"w\": dimension 1 is 0"));
  EXPECT_TRUE(refused(tensor({kHuge, 2}), "tensor \"w\": its dimensions 9223372036854775808 x 2 overflow"));
  EXPECT_TRUE(refused(tensor({1u << 31, 1u << 31, 1u << 31}), "tensor \"w\": its dimensions"));
  EXPECT_TRUE(
      refused(tensor({uint64_t{1} << 62}), "tensor \"w\": its dimensions 4611686018427387904 overflow"));
  EXPECT_TRUE(refused(tensor({UINT64_MAX}), "tensor \"w\": its dimensions"));
  EXPECT_TRUE(refused(tensor({1025}), "tensor \"w\": its 4100 bytes at offset 0 reach past the end"));
  EXPECT_TRUE(refused(tensor({uint64_t{1} << 50}),
                      "tensor \"w\": its 4503599627370496 bytes at offset 0 reach past"));
  EXPECT_TRUE(
      refused(tensor({100}, 12), "tensor \"w\": its rows of 100 values are not whole blocks of 256 (Q4_K)"));
  EXPECT_TRUE(refused(RawFile(1, 0).put(UINT32_MAX).zeros(64), "the name of tensor 0"));
}

TEST(Malformed, UnknownTypeListsWhatIsSupported) {
  for (const uint32_t type : {4u, 5u, 9u, 15u, 31u, 99u, 0xffffffffu}) {
    const RawFile raw = RawFile(1, 0).tensor("blk.0.attn_q.weight", {256}, type, 0).pad().zeros(4096);
    const auto file = File::from_memory(raw.bytes(), "x.gguf");
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().message,
              fmt::format("x.gguf: tensor \"blk.0.attn_q.weight\": has the unknown type id {}", type));
    EXPECT_NE(file.error().hint.find("Q4_K"), std::string::npos);
  }
}

TEST(Malformed, TensorPlaces) {
  const auto two = [](uint64_t first, uint64_t second, std::string_view name = "b") {
    return RawFile(2, 0).tensor("a", {16}, 0, first).tensor(name, {16}, 0, second).pad().zeros(128);
  };
  EXPECT_EQ(two(0, 64).error(), "");
  EXPECT_EQ(two(64, 0).error(), "");
  EXPECT_TRUE(refused(two(0, 65), "tensor \"b\": its offset 65 is not a multiple of the alignment 32"));
  EXPECT_TRUE(refused(two(0, 96),
                      "tensor \"b\": its 64 bytes at offset 96 reach past the end of the file (128 bytes"));
  EXPECT_TRUE(refused(two(0, UINT64_MAX - 31),
                      "tensor \"b\": its 64 bytes at offset 18446744073709551584 reach past"));
  EXPECT_TRUE(refused(two(0, kHuge), "tensor \"b\": its 64 bytes at offset 9223372036854775808 reach past"));
  EXPECT_TRUE(refused(two(0, 0), "overlap"));
  EXPECT_TRUE(refused(two(0, 32), "tensor \"b\": its bytes overlap those of \"a\""));
  EXPECT_TRUE(refused(two(0, 64, "a"), "tensor \"a\": stands twice in the file"));
  EXPECT_TRUE(
      refused(RawFile(1, 0).tensor("w", {8}, 0, 0), "tensor \"w\": its 32 bytes at offset 0 reach past"));
}

}  // namespace
}  // namespace brass::gguf
