// What Writer writes, File reads: every metadata type, every tensor type, every getter.
#include <gtest/gtest.h>

#include "gguf/gguf.h"
#include "gguf/synth.h"
#include "gguf/vocab.h"
#include "gguf/writer.h"
#include "temp_folder.h"

namespace brass::gguf {
namespace {

using namespace std::string_literals;

struct Opened {
  std::vector<std::byte> bytes;
  Result<File> file = fail("not opened");
  explicit Opened(const Writer& writer) {
    auto written = writer.to_bytes();
    if (!written) {
      file = std::unexpected(written.error());
      return;
    }
    bytes = std::move(*written);
    file = File::from_memory(bytes, "x.gguf");
  }
};

Writer all_types() {
  Writer w;
  w.set("u8", uint8_t{255});
  w.set("i8", int8_t{-128});
  w.set("u16", uint16_t{65535});
  w.set("i16", int16_t{-32768});
  w.set("u32", uint32_t{4294967295});
  w.set("i32", int32_t{-2147483647});
  w.set("f32", 0.1f);
  w.set("bool", true);
  w.set("string", "grüß\0e\xff"s);
  w.set("u64", uint64_t{18446744073709551615u});
  w.set("i64", int64_t{-9223372036854775807});
  w.set("f64", 0.1);
  w.set("array.u8", std::vector<uint8_t>{0, 128, 255});
  w.set("array.i32", std::vector<int32_t>{-1, 0, 1});
  w.set("array.u64", std::vector<uint64_t>{0, UINT64_MAX});
  w.set("array.f32", std::vector<float>{1.5f, -0.0f});
  w.set("array.f64", std::vector<double>{1e300});
  w.set("array.bool", std::vector<bool>{true, false, true});
  w.set("array.string", std::vector<std::string>{"a", "", "b\nc"});
  w.set("array.empty", MetaArray{MetaType::String, {}});
  w.set("array.nested",
        MetaArray{MetaType::Array, {std::vector<uint16_t>{1, 2}, std::vector<std::string>{"x"}}});
  return w;
}

TEST(RoundTrip, ScalarsOfEveryType) {
  const Opened o(all_types());
  ASSERT_TRUE(o.file) << o.file.error().message;
  const File& f = *o.file;
  EXPECT_EQ(f.version(), 3u);
  EXPECT_EQ(f.metadata().size(), 21u);
  EXPECT_EQ(f.metadata()[3].key, "i16");
  EXPECT_EQ(f.get_uint("u8"), 255u);
  EXPECT_EQ(f.get_int("i8"), -128);
  EXPECT_EQ(f.get_uint("u16"), 65535u);
  EXPECT_EQ(f.get_int("i16"), -32768);
  EXPECT_EQ(f.get_uint("u32"), 4294967295u);
  EXPECT_EQ(f.get_int("i32"), -2147483647);
  EXPECT_EQ(f.get_float("f32"), static_cast<double>(0.1f));
  EXPECT_EQ(f.get_bool("bool"), true);
  EXPECT_EQ(f.get_string("string"), "grüß\0e\xff"s);
  EXPECT_EQ(f.get_uint("u64"), UINT64_MAX);
  EXPECT_EQ(f.get_int("i64"), -9223372036854775807);
  EXPECT_EQ(f.get_float("f64"), 0.1);
}

TEST(RoundTrip, ArraysOfEveryKind) {
  const Opened o(all_types());
  ASSERT_TRUE(o.file) << o.file.error().message;
  const File& f = *o.file;
  EXPECT_EQ(f.get_uint_array("array.u8"), (std::vector<uint64_t>{0, 128, 255}));
  EXPECT_EQ(f.get_int_array("array.i32"), (std::vector<int64_t>{-1, 0, 1}));
  EXPECT_EQ(f.get_uint_array("array.u64"), (std::vector<uint64_t>{0, UINT64_MAX}));
  EXPECT_EQ(f.get_float_array("array.f32"), (std::vector<float>{1.5f, -0.0f}));
  EXPECT_EQ(f.get_bool_array("array.bool"), (std::vector<uint8_t>{1, 0, 1}));
  EXPECT_EQ(f.get_string_array("array.string"), (std::vector<std::string_view>{"a", "", "b\nc"}));
  EXPECT_EQ(f.get_string_array("array.empty"), std::vector<std::string_view>{});
  EXPECT_EQ(f.get_uint_each("array.u8", 3), (std::vector<uint64_t>{0, 128, 255}));
  EXPECT_EQ(f.get_uint_each("u8", 3), (std::vector<uint64_t>{255, 255, 255}));
  EXPECT_FALSE(f.get_uint_each("array.u8", 4));
  EXPECT_FALSE(f.get_float_array("array.f64"));  // 1e300 does not fit into f32
  const auto nested = to_items(*f.find_key("array.nested"));
  ASSERT_TRUE(nested);
  ASSERT_EQ(nested->size(), 2u);
  EXPECT_EQ(to_uint_array((*nested)[0]), (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(to_string_array((*nested)[1]), (std::vector<std::string_view>{"x"}));
}

TEST(RoundTrip, PrintsEverything) {
  const Opened o(all_types());
  ASSERT_TRUE(o.file);
  const auto text = [&](std::string_view key, size_t items = 6) {
    return print(*o.file->find_key(key), items);
  };
  EXPECT_EQ(text("i8"), "-128");
  EXPECT_EQ(text("u64"), "18446744073709551615");
  EXPECT_EQ(text("f32"), "0.1");
  EXPECT_EQ(text("bool"), "true");
  EXPECT_EQ(text("string"), R"("grüß\x00e\xff")");
  EXPECT_EQ(text("array.string"), R"(["a", "", "b\nc"])");
  EXPECT_EQ(text("array.nested"), R"([[1, 2], ["x"]])");
  EXPECT_EQ(text("array.u8", 2), "[0, 128, … 3 values]");
  EXPECT_EQ(text("array.empty"), "[]");
}

TEST(RoundTrip, PrintedFormIsShort) {
  MetaValue nested = std::vector<std::string>(100, std::string(1000, '\x01'));
  for (int depth = 1; depth < kMaxArrayDepth; depth++)
    nested = MetaArray{MetaType::Array, std::vector<MetaValue>(4, nested)};
  Writer w;
  w.set("bomb", nested);
  const Opened o(w);
  ASSERT_TRUE(o.file) << o.file.error().message;
  EXPECT_LT(print(*o.file->find_key("bomb"), 100).size(), 6000u);
}

TEST(RoundTrip, WrongTypesNameFileKeyAndType) {
  const Opened o(all_types());
  ASSERT_TRUE(o.file);
  const File& f = *o.file;
  EXPECT_EQ(f.get_uint("i32").error().message,
            "x.gguf: key \"i32\": is i32 -2147483647, not a non-negative integer");
  EXPECT_EQ(f.get_uint("f32").error().message, "x.gguf: key \"f32\": is f32 0.1, not a non-negative integer");
  EXPECT_EQ(f.get_int("u64").error().message,
            "x.gguf: key \"u64\": is u64 18446744073709551615, not an integer below 2^63");
  EXPECT_EQ(f.get_float("u32").error().message, "x.gguf: key \"u32\": is u32 4294967295, not a float");
  EXPECT_EQ(f.get_bool("u8").error().message, "x.gguf: key \"u8\": is u8 255, not a bool");
  EXPECT_EQ(f.get_string("array.i32").error().message,
            "x.gguf: key \"array.i32\": is an array of 3 i32 values, not a string");
  EXPECT_EQ(f.get_uint_array("array.i32").error().message,
            "x.gguf: key \"array.i32\": element 0: is i32 -1, not a non-negative integer");
  EXPECT_EQ(f.get_string_array("string").error().message,
            "x.gguf: key \"string\": is string \"grüß\\x00e\\xff\", not an array of strings");
  EXPECT_EQ(f.get_uint("nothing").error().message, "x.gguf: key \"nothing\": is missing from the file");
  EXPECT_EQ(f.get_uint("u8", 1, 10).error().message,
            "x.gguf: key \"u8\": is 255, but has to be between 1 and 10");
  EXPECT_FALSE(f.find_uint("nothing").value().has_value());
  EXPECT_EQ(f.uint_or("nothing", 7), 7u);
  EXPECT_FALSE(f.uint_or("f32", 7));
  EXPECT_EQ(f.string_or("nothing", "x"), "x");
}

TEST(RoundTrip, TensorsOfEveryType) {
  std::vector<Type> types = {Type::I8, Type::I16, Type::I32, Type::I64, Type::F64};
  for (const Format* format : all_formats()) types.push_back(format->type);
  for (const uint32_t alignment : {8u, 32u, 4096u}) {
    Writer w;
    w.set("general.alignment", alignment);
    std::vector<std::vector<std::byte>> data;
    for (const Type type : types) {
      const Format* format = find_format(type);
      const size_t row = format == nullptr ? 512 : row_bytes(*format, 512);
      const size_t size = format == nullptr ? 3 * 512 *
                                                  (type == Type::I8    ? 1
                                                   : type == Type::I16 ? 2
                                                   : type == Type::I32 ? 4
                                                                       : 8)
                                            : 3 * row;
      data.emplace_back(size, static_cast<std::byte>(static_cast<uint32_t>(type) + 1));
    }
    for (size_t i = 0; i < types.size(); i++) w.add_tensor(type_name(types[i]), types[i], {512, 3}, data[i]);
    const Opened o(w);
    ASSERT_TRUE(o.file) << o.file.error().message;
    EXPECT_EQ(o.file->alignment(), alignment);
    ASSERT_EQ(o.file->tensors().size(), types.size());
    for (size_t i = 0; i < types.size(); i++) {
      const TensorInfo* t = o.file->find(type_name(types[i]));
      ASSERT_NE(t, nullptr);
      EXPECT_EQ(t, &o.file->tensors()[i]);
      EXPECT_EQ(t->type, types[i]);
      EXPECT_EQ(t->format, find_format(types[i]));
      EXPECT_EQ(t->dims, (std::array<uint64_t, 4>{512, 3, 1, 1}));
      EXPECT_EQ(t->n_dims, 2);
      EXPECT_EQ(t->rows(), 3u);
      EXPECT_EQ(t->file_offset % alignment, 0u);
      ASSERT_EQ(t->bytes, data[i].size());
      EXPECT_TRUE(std::equal(t->data.begin(), t->data.end(), data[i].begin()));
    }
  }
}

TEST(RoundTrip, WriterRefusesWhatReadersWould) {
  const auto error = [](auto change) {
    Writer w;
    change(w);
    const auto bytes = w.to_bytes();
    return bytes ? "" : bytes.error().message;
  };
  const std::vector<std::byte> kilobyte(1024);
  EXPECT_EQ(error([](Writer& w) { w.set("", 1); }), "key \"\": a name has 1 to 65535 bytes");
  EXPECT_EQ(error([](Writer& w) { w.set("general.alignment", uint32_t{3}); }),
            "key \"general.alignment\": is 3, not a power of two from 8 to 1048576");
  EXPECT_EQ(error([&](Writer& w) { w.add_tensor("t", Type::F32, {255}, kilobyte); }),
            "tensor \"t\": 1024 bytes were given, but its shape takes 1020");
  EXPECT_EQ(error([&](Writer& w) { w.add_tensor("t", Type::Q4_K, {100}, kilobyte); }),
            "tensor \"t\": its rows of 100 values are not whole blocks of 256 (Q4_K)");
  EXPECT_EQ(error([&](Writer& w) { w.add_tensor("t", Type::F32, {1, 0}, kilobyte); }),
            "tensor \"t\": dimension 1 is 0");
  EXPECT_EQ(error([&](Writer& w) {
              w.add_tensor("t", Type::F32, {256}, kilobyte);
              w.add_tensor("t", Type::F32, {256}, kilobyte);
            }),
            "tensor \"t\": is added twice");
  EXPECT_EQ(error([](Writer& w) { w.set("a", MetaArray{MetaType::U8, {MetaValue(1.0f)}}); }),
            "key \"a\": an array of u8 values holds a f32");
}

TEST(RoundTrip, FileAppearsWholeOrNotAtAll) {
  const TempFolder folder;
  const std::string path = folder / "m.gguf";
  Writer good;
  good.set("general.name", "one");
  ASSERT_TRUE(good.write(path));
  Writer bad;
  bad.add_tensor("t", Type::F32, {8},
                 [](uint64_t, std::span<std::byte>) -> Result<> { return fail("no data"); });
  const auto result = bad.write(path);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, path + ": tensor \"t\": no data");
  const auto file = File::open(path);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->get_string("general.name"), "one");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  EXPECT_FALSE(good.write(folder / "absent/m.gguf"));
}

TEST(RoundTrip, SynthesizedModelsAreFiniteAndReproducible) {
  const TempFolder folder;
  SynthSpec spec{"llama", {{"llama.block_count", uint32_t{1}}}, {}, 7, 0.05f};
  for (const Format* format : all_formats()) {
    spec.tensors.push_back({fmt::format("w.{}", format->name), {1024, 3, 2}, format->type});
  }
  spec.tensors.push_back({"norm", {1024}, Type::F32, 0.01f, 1.0f});
  spec.tensors.push_back({"large", {4096, 1024}, Type::Q4_K});  // several chunks, whose ends are inside 4 MiB
  spec.tensors.push_back({"larger", {4096, 1024}, Type::F32});
  ASSERT_TRUE(synthesize(spec, folder / "a.gguf"));
  std::reverse(spec.tensors.begin(), spec.tensors.end());  // order must not matter for the values
  ASSERT_TRUE(synthesize(spec, folder / "b.gguf"));
  const auto a = File::open(folder / "a.gguf");
  const auto b = File::open(folder / "b.gguf");
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->get_string("general.architecture"), "llama");
  for (const TensorInfo& tensor : a->tensors()) {
    EXPECT_EQ(tensor.format->find_non_finite(tensor.data.data(), tensor.values()), -1) << tensor.name;
    const auto other = b->find(tensor.name)->data;
    EXPECT_TRUE(std::equal(tensor.data.begin(), tensor.data.end(), other.begin(), other.end()))
        << tensor.name;
  }
  const TensorInfo* norm = a->find("norm");
  std::vector<float> values(norm->values());
  norm->format->decode(norm->data.data(), values.data(), values.size());
  for (const float v : values) EXPECT_NEAR(v, 1.0f, 0.2f);
  // No two chunks of a tensor are alike.
  const auto larger = a->find("larger")->data;
  EXPECT_FALSE(std::equal(larger.begin(), larger.begin() + (4 << 20), larger.begin() + (4 << 20)));
  spec.tensors = {{"ids", {8}, Type::I32}};
  EXPECT_FALSE(synthesize(spec, folder / "c.gguf"));
}

TEST(RoundTrip, VocabularyIsReadAsWritten) {
  Writer w;
  w.set("tokenizer.ggml.model", "llama");
  w.set("tokenizer.ggml.pre", "default");
  w.set("tokenizer.ggml.tokens",
        std::vector<std::string>{"<unk>", "<s>", "</s>", "<0x0A>", "a\0b"s, "\xff\xfe"});
  w.set("tokenizer.ggml.scores", std::vector<float>{0, 0, 0, 0, -1, -2});
  w.set("tokenizer.ggml.token_type", std::vector<int32_t>{2, 3, 3, 6, 1, 4});
  w.set("tokenizer.ggml.bos_token_id", uint32_t{1});
  w.set("tokenizer.ggml.eos_token_id", uint32_t{2});
  w.set("tokenizer.ggml.seperator_token_id", uint32_t{3});
  w.set("tokenizer.ggml.padding_token_id", uint32_t{4294967295});
  w.set("tokenizer.ggml.mask_token_id", int32_t{-1});
  w.set("tokenizer.ggml.add_bos_token", true);
  w.set("tokenizer.ggml.add_space_prefix", false);
  w.set("tokenizer.ggml.precompiled_charsmap", std::vector<uint8_t>{1, 2, 250});
  w.set("tokenizer.chat_template", "{{ messages }}");
  w.set("tokenizer.chat_template.tool_use", "{{ tools }}");
  w.set("tokenizer.chat_templates", std::vector<std::string>{"tool_use"});
  const Opened o(w);
  ASSERT_TRUE(o.file) << o.file.error().message;
  const auto v = read_vocab(*o.file);
  ASSERT_TRUE(v) << v.error().message;
  EXPECT_EQ(v->model, "llama");
  EXPECT_EQ(v->pre, "default");
  EXPECT_EQ(v->tokens[4], "a\0b"s);
  EXPECT_EQ(v->tokens[5], "\xff\xfe");
  EXPECT_EQ(v->scores[5], -2.0f);
  EXPECT_EQ(v->kinds[3], TokenKind::kByte);
  EXPECT_EQ(v->bos, 1);
  EXPECT_EQ(v->eos, 2);
  EXPECT_EQ(v->sep, 3);
  EXPECT_EQ(v->pad, VocabSpec::kNone);
  EXPECT_EQ(v->mask, VocabSpec::kNone);
  EXPECT_EQ(v->unk, VocabSpec::kNone);
  EXPECT_EQ(v->add_bos, 1);
  EXPECT_EQ(v->add_eos, -1);
  EXPECT_EQ(v->add_space_prefix, 0);
  EXPECT_EQ(v->precompiled_charsmap, (std::vector<uint8_t>{1, 2, 250}));
  EXPECT_EQ(v->chat_template, "{{ messages }}");
  ASSERT_EQ(v->named_templates.size(), 1u);
  EXPECT_EQ(v->named_templates[0], (std::pair<std::string, std::string>{"tool_use", "{{ tools }}"}));
}

}  // namespace
}  // namespace brass::gguf
