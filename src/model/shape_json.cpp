#include "model/shape_json.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace brass {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
gguf::MetaValue array_of(const Json& json) {
  return gguf::MetaValue(json.get<std::vector<T>>());
}

Result<gguf::MetaValue> meta_value(const Json& json) {
  if (json.is_boolean()) return gguf::MetaValue(json.get<bool>());
  if (json.is_number_unsigned()) return gguf::MetaValue(json.get<uint32_t>());
  if (json.is_number_float()) return gguf::MetaValue(json.get<float>());
  if (json.is_string()) return gguf::MetaValue(json.get<std::string>());
  if (json.is_array() && !json.empty()) {
    const auto all = [&](auto kind) { return std::all_of(json.begin(), json.end(), kind); };
    if (all([](const Json& x) { return x.is_boolean(); })) return array_of<bool>(json);
    if (all([](const Json& x) { return x.is_number_unsigned(); })) return array_of<uint32_t>(json);
    if (all([](const Json& x) { return x.is_number(); })) return array_of<float>(json);
    if (all([](const Json& x) { return x.is_string(); })) return array_of<std::string>(json);
  }
  return fail("is {}, which is no metadata value", json.dump());
}

Result<ShapeSpec> shape_of(const Json& json) {
  ShapeSpec spec;
  spec.architecture = json.at("architecture").get<std::string>();
  spec.vocabulary = json.at("vocabulary").get<uint32_t>();
  for (const auto& [key, value] : json.at("metadata").items())
    spec.metadata.emplace_back(key, TRY(within(key, meta_value(value))));
  if (json.contains("optional")) spec.optional = json["optional"].get<std::vector<std::string>>();
  if (json.contains("rows"))
    for (const auto& [pattern, n] : json["rows"].items()) spec.rows.emplace_back(pattern, n.get<uint32_t>());
  return spec;
}

}  // namespace

Result<ShapeSpec> read_shape(const std::string& path) {
  std::ifstream file(path);
  if (!file) return fail("{}: can not be read", path);
  std::stringstream text;
  text << file.rdbuf();
  try {
    return within(path, shape_of(Json::parse(text.str())));
  } catch (const Json::exception& error) {
    return fail("{}: {}", path, error.what());
  }
}

}  // namespace brass
