// Where the schemas of a document are, and what a reference means.
//
// Owns: base URIs, anchors, JSON pointers, drafts. Must not know: what other keywords say. Invariants: nothing outside
// of the document is ever fetched; every place that a reference can reach has one number; nesting is bounded.
#pragma once

#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "text/grammar/schema.h"

namespace brass::grammar::schema {

using Json = nlohmann::ordered_json;

struct Place {
  const Json* json = nullptr;
  std::string base;     // URI of the resource that it is in
  std::string pointer;  // from the root, for errors: "#/properties/a"
  bool draft7 = false;
};

class Document {
 public:
  Document(const Json& root, SchemaDraft draft) : root_(root), draft_(draft) {}

  Result<> scan();
  int32_t root() const { return 0; }
  const Place& place(int32_t index) const { return places_[static_cast<size_t>(index)]; }

  // The place of a schema inside another's keyword.
  Result<int32_t> find(const Json& schema, int32_t within, const std::string& step);
  // What `$ref` or `$dynamicRef` at a place points to.
  Result<int32_t> resolve(int32_t from, const std::string& keyword, const std::string& reference);

 private:
  struct Visit {
    const Json* json;
    std::string base, pointer;
    bool draft7;
    int depth;
  };

  Result<> scan_one(const Visit& at);
  Result<> scan_children(const Visit& at);
  Result<> scan_keyword(const Visit& at, const std::string& keyword, const Json& value);
  Result<bool> read_draft(const Json& schema, const std::string& pointer, bool inherited) const;
  Result<> read_id(Visit& at);
  void read_anchors(const Visit& at);
  int32_t add(const Json& json, std::string base, std::string pointer, bool draft7);
  Result<int32_t> follow(const std::string& resource, const std::string& pointer);

  const Json& root_;
  SchemaDraft draft_;
  std::deque<Place> places_;  // what was handed out by reference stays where it is
  std::unordered_map<const Json*, int32_t> numbers_;
  std::map<std::string, int32_t> resources_, anchors_;
  std::map<std::string, int> dynamic_anchors_;  // how often each name is used
  std::map<std::string, bool> is_dynamic_;      // of the keys of anchors_
  std::vector<Visit> open_;
};

// RFC 3986, section 5.2.
std::string resolve_uri(const std::string& base, const std::string& reference);

// A token of a JSON pointer for use in one.
std::string escape_pointer(const std::string& token);

}  // namespace brass::grammar::schema
