// Tiny random models and what transformers says of them: the shared ones, and the variants beside the tests
// (tools/oracles/tiny_variants.py).
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "model/architecture.h"
#include "model_fixture.h"
#include "sanitized.h"
#include "source_dir.h"

namespace brass {

using Json = nlohmann::ordered_json;

struct Reference {
  std::string name, path;
  Json values;
  bool experts;
};

inline std::vector<Reference> references_in(const std::string& folder) {
  std::vector<Reference> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    std::filesystem::path model = entry.path();
    model.replace_extension(".gguf");
    std::ifstream in(entry.path());
    Json values = Json::parse(in);
    if (find_architecture(values["arch"].get<std::string>()) == nullptr) continue;
    const auto loaded = load_model(model.string());
    if (!loaded) {  // a variant that the architecture refuses by name
      EXPECT_NE(loaded.error().message.find("not supported"), std::string::npos) << loaded.error().message;
      std::printf("[  SKIPPED ] %s\n", loaded.error().message.c_str());
      continue;
    }
    const bool experts =
        std::ranges::any_of((*loaded)->graph->ops, [](const Op& op) { return op.kind == OpKind::kMoeRoute; });
    found.push_back({entry.path().stem().string(), model.string(), std::move(values), experts});
  }
  return found;
}

// Under the sanitizers one of each architecture and folder: what they look for is the same in its variants.
inline std::vector<Reference> sampled(std::vector<Reference> all) {
  if (!kSanitized) return all;
  std::ranges::sort(all, {}, &Reference::name);
  std::set<std::string> seen;
  std::erase_if(all,
                [&](const Reference& r) { return !seen.insert(r.values["arch"].get<std::string>()).second; });
  return all;
}

inline std::vector<Reference> all_references() {
  std::vector<Reference> all = sampled(references_in(source_dir() + "/tests/runtime/fixtures"));
  if (const auto folder = shared_data("tiny"))
    for (Reference& r : sampled(references_in(*folder))) all.push_back(std::move(r));
  return all;
}

}  // namespace brass
