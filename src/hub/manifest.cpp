#include "hub/manifest.h"

#include <nlohmann/json.hpp>

#include "hub/digest.h"
#include "hub/names.h"

namespace brass::hub {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr size_t kMaxParts = 256;

Result<std::string> text_of(const Json& object, const char* field) {
  const auto at = object.find(field);
  if (at == object.end() || !at->is_string()) return fail("field '{}' is not a string", field);
  return at->get<std::string>();
}

template <class T>
Result<T> number_of(const Json& object, const char* field) {
  const auto at = object.find(field);
  const bool fits =
      at != object.end() && (std::is_signed_v<T> ? at->is_number_integer() : at->is_number_unsigned());
  if (!fits) return fail("field '{}' is not a{} integer", field, std::is_signed_v<T> ? "n" : " non-negative");
  return at->get<T>();
}

Result<StoredFile> parse_file(const Json& object) {
  if (!object.is_object()) return fail("field 'files' holds something that is not an object");
  StoredFile file;
  file.name = TRY(text_of(object, "name"));
  if (!is_plain_file_name(file.name)) return fail("field 'files': '{}' is not a plain file name", file.name);
  const std::string sha256 = TRY(text_of(object, "sha256"));
  file.sha256 = TRY(parse_sha256(sha256));
  file.identity.bytes = TRY(number_of<uint64_t>(object, "bytes"));
  file.identity.inode = TRY(number_of<uint64_t>(object, "inode"));
  file.identity.modified_ns = TRY(number_of<int64_t>(object, "modified_ns"));
  return file;
}

Result<Model> parse_object(const Json& object, const std::string& name) {
  if (!object.is_object()) return fail("is not a JSON object");
  const int64_t version = TRY(number_of<int64_t>(object, "version"));
  if (version != kVersion) return fail("field 'version' is {}: this program knows {}", version, kVersion);
  Model model;
  model.name = TRY(text_of(object, "name"));
  if (model.name != name) return fail("field 'name' is not the name of its file");
  model.imported = TRY(text_of(object, "imported"));
  const auto files = object.find("files");
  if (files == object.end() || !files->is_array() || files->empty() || files->size() > kMaxParts) {
    return fail("field 'files' is not a list of 1 to {} files", kMaxParts);
  }
  for (const Json& file : *files) model.files.push_back(TRY(parse_file(file)));
  model.sha256 = model_sha256(model.files);
  return model;
}

}  // namespace

uint64_t Model::bytes() const {
  uint64_t sum = 0;
  for (const StoredFile& file : files) sum += file.identity.bytes;
  return sum;
}

std::string model_sha256(const std::vector<StoredFile>& files) {
  if (files.size() == 1) return files[0].sha256;
  Sha256 sha;
  for (const StoredFile& file : files) {
    const std::string line = file.sha256 + "\n";
    sha.add(std::as_bytes(std::span(line)));
  }
  return sha.finish();
}

Result<std::string> to_json(const Model& model) {
  Json files = Json::array();
  for (const StoredFile& file : model.files) {
    files.push_back({{"name", file.name},
                     {"bytes", file.identity.bytes},
                     {"sha256", file.sha256},
                     {"inode", file.identity.inode},
                     {"modified_ns", file.identity.modified_ns}});
  }
  const Json object = {
      {"version", kVersion}, {"name", model.name}, {"imported", model.imported}, {"files", files}};
  try {
    return object.dump(2) + "\n";
  } catch (const Json::type_error&) {
    return fail_hint("rename it", "{}: the file's name is not valid UTF-8", model.name);
  }
}

Result<Model> parse_manifest(const std::string& text, const std::string& name) {
  if (text.size() > (1 << 20)) return fail("is too long for a manifest");
  // No depth to fear: the size is bounded, and the parser itself does not recurse; exceptions are off.
  const Json object = Json::parse(text, nullptr, false);
  if (object.is_discarded()) return fail("is not valid JSON");
  return parse_object(object, name);
}

}  // namespace brass::hub
