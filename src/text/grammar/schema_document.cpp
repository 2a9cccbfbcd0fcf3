#include "text/grammar/schema_document.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "text/json_guard.h"

namespace brass::grammar::schema {
namespace {

constexpr std::array kOneSchema = {
    "items", "additionalItems", "contains",         "additionalProperties",  "not",          "if", "then",
    "else",  "propertyNames",   "unevaluatedItems", "unevaluatedProperties", "contentSchema"};
constexpr std::array kManySchemas = {"allOf", "anyOf", "oneOf", "prefixItems", "items"};
constexpr std::array kNamedSchemas = {"properties",  "patternProperties", "$defs",
                                      "definitions", "dependentSchemas",  "dependencies"};

template <class List>
bool has(const List& list, std::string_view keyword) {
  return std::any_of(list.begin(), list.end(), [&](const char* one) { return keyword == one; });
}

struct Uri {
  std::string scheme, authority, path, query;  // each with its mark: "http:", "//host", "/a", "?q"
};

Uri split(const std::string& text) {
  Uri uri;
  std::string rest = text.substr(0, text.find('#'));
  const size_t colon = rest.find_first_of(":/?");
  if (colon != std::string::npos && colon > 0 && rest[colon] == ':') {
    uri.scheme = rest.substr(0, colon + 1);
    rest.erase(0, colon + 1);
  }
  if (rest.starts_with("//")) {
    const size_t end = std::min(rest.find_first_of("/?", 2), rest.size());
    uri.authority = rest.substr(0, end);
    rest.erase(0, end);
  }
  const size_t query = std::min(rest.find('?'), rest.size());
  uri.path = rest.substr(0, query);
  uri.query = rest.substr(query);
  return uri;
}

std::string without_dots(const std::string& path) {
  std::vector<std::string> kept;
  std::string segment;
  const bool absolute = path.starts_with('/');
  for (size_t at = absolute ? 1 : 0; at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    segment = path.substr(at, end - at);
    const bool last = end == path.size();
    if (segment == "..") {
      if (!kept.empty()) kept.pop_back();
    } else if (segment != ".") {
      kept.push_back(segment);
    }
    if (last && (segment == "." || segment == "..")) kept.emplace_back();
    at = end + 1;
  }
  std::string out = absolute ? "/" : "";
  for (size_t i = 0; i < kept.size(); i++) out += (i > 0 ? "/" : "") + kept[i];
  return out;
}

std::string percent_decoded(const std::string& text) {
  std::string out;
  const auto digit = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
  };
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0) {
      out.push_back(static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2])));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

std::string unescaped_token(std::string token) {
  for (size_t at = 0; (at = token.find('~', at)) != std::string::npos; at++)
    if (at + 1 < token.size()) token.replace(at, 2, token[at + 1] == '1' ? "/" : "~");
  return token;
}

// The child that a token of a pointer names, or nothing.
const Json* child(const Json& json, const std::string& token) {
  if (json.is_object()) {
    const auto found = json.find(token);
    return found == json.end() ? nullptr : &*found;
  }
  const bool index =
      !token.empty() && token.size() < 10 && token.find_first_not_of("0123456789") == std::string::npos;
  if (!json.is_array() || !index) return nullptr;
  const size_t at = std::stoul(token);
  return at < json.size() ? &json[at] : nullptr;
}

}  // namespace

std::string resolve_uri(const std::string& base, const std::string& reference) {
  const Uri from = split(base);
  Uri to = split(reference);
  if (!to.scheme.empty()) return to.scheme + to.authority + without_dots(to.path) + to.query;
  if (!to.authority.empty()) return from.scheme + to.authority + without_dots(to.path) + to.query;
  if (to.path.empty())
    return from.scheme + from.authority + from.path + (to.query.empty() ? from.query : to.query);
  if (!to.path.starts_with('/')) {
    const size_t slash = from.path.rfind('/');
    const std::string folder =
        slash == std::string::npos ? (from.authority.empty() ? "" : "/") : from.path.substr(0, slash + 1);
    to.path = folder + to.path;
  }
  return from.scheme + from.authority + without_dots(to.path) + to.query;
}

std::string escape_pointer(const std::string& token) {
  std::string out;
  for (const char c : token) out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return out;
}

int32_t Document::add(const Json& json, std::string base, std::string pointer, bool draft7) {
  const auto [place, fresh] = numbers_.emplace(&json, static_cast<int32_t>(places_.size()));
  if (fresh) places_.push_back({&json, std::move(base), std::move(pointer), draft7});
  return place->second;
}

Result<bool> Document::read_draft(const Json& schema, const std::string& pointer, bool inherited) const {
  if (draft_ != SchemaDraft::kBySchemaKeyword) return draft_ == SchemaDraft::k7;
  const auto found = schema.find("$schema");
  if (found == schema.end()) return inherited;
  if (!found->is_string()) return fail("{}: keyword '$schema' is not a string", pointer);
  std::string uri = found->get<std::string>();
  while (uri.ends_with('#')) uri.pop_back();
  for (const char* old : {"draft-07", "draft-06", "draft-05", "draft-04", "draft-03"})
    if (uri.ends_with(std::string("//json-schema.org/") + old + "/schema")) return true;
  for (const char* known : {"schema", "draft/2020-12/schema", "draft/2019-09/schema", "draft/next/schema"})
    if (uri == std::string("https://json-schema.org/") + known ||
        uri == std::string("http://json-schema.org/") + known)
      return false;
  return fail("{}: keyword '$schema' names '{}', which is no draft that Brass knows", pointer, uri);
}

Result<> Document::read_id(Visit& at) {
  const Json& schema = *at.json;
  const auto found = schema.find("$id");
  if (found == schema.end() || (at.draft7 && schema.contains("$ref"))) return {};
  if (!found->is_string()) return fail("{}: keyword '$id' is not a string", at.pointer);
  const std::string id = found->get<std::string>();
  if (id.starts_with('#')) return {};
  at.base = resolve_uri(at.base, id);
  return {};
}

void Document::read_anchors(const Visit& at) {
  const int32_t number = numbers_.at(at.json);
  for (const char* keyword : {"$anchor", "$dynamicAnchor", "$id"}) {
    const auto found = at.json->find(keyword);
    if (found == at.json->end() || !found->is_string()) continue;
    std::string name = found->get<std::string>();
    if (keyword == std::string_view("$id")) {
      const size_t hash = name.find('#');
      if (hash == std::string::npos || hash + 1 == name.size()) continue;
      name.erase(0, hash + 1);
    }
    const bool dynamic = keyword == std::string_view("$dynamicAnchor");
    const std::string key = at.base + "#" + name;
    anchors_.emplace(key, number);
    if (dynamic) is_dynamic_[key] = true, dynamic_anchors_[name]++;
  }
}

Result<> Document::scan() {
  TRY_VOID(read_draft(root_.is_object() ? root_ : Json::object(), "#", false));
  open_.push_back({&root_, "", "#", false, 0});
  add(root_, "", "#", false);
  resources_.emplace("", 0);
  while (!open_.empty()) {
    const Visit at = open_.back();
    open_.pop_back();
    TRY_VOID(scan_one(at));
  }
  return {};
}

Result<> Document::scan_one(const Visit& visit) {
  Visit at = visit;
  if (at.depth > kMaxJsonDepth)
    return fail("{}: nested deeper than {} levels", at.pointer.substr(0, 80), kMaxJsonDepth);
  if (at.json->is_object()) {
    at.draft7 = TRY(read_draft(*at.json, at.pointer, at.draft7));
    TRY_VOID(read_id(at));
  }
  const int32_t number = add(*at.json, at.base, at.pointer, at.draft7);
  places_[static_cast<size_t>(number)].base = at.base;
  places_[static_cast<size_t>(number)].draft7 = at.draft7;
  if (at.base != visit.base) resources_.emplace(at.base, number);
  if (!at.json->is_object()) return {};
  read_anchors(at);
  return scan_children(at);
}

Result<> Document::scan_children(const Visit& at) {
  // The draft before 2019 ignored whatever stands beside `$ref`, names included.
  const bool reference = at.draft7 && at.json->contains("$ref");
  for (const auto& [keyword, value] : at.json->items())
    if (!reference || keyword == "definitions" || keyword == "$defs")
      TRY_VOID(scan_keyword(at, keyword, value));
  return {};
}

Result<> Document::scan_keyword(const Visit& at, const std::string& keyword, const Json& value) {
  const auto visit = [&](const Json& json, const std::string& step) {
    if (json.is_object() || json.is_boolean())
      open_.push_back({&json, at.base, at.pointer + "/" + keyword + step, at.draft7, at.depth + 1});
  };
  if (value.is_array() && has(kManySchemas, keyword)) {
    for (size_t i = 0; i < value.size(); i++) visit(value[i], "/" + std::to_string(i));
  } else if (has(kOneSchema, keyword)) {
    visit(value, "");
  } else if (value.is_object() && has(kNamedSchemas, keyword)) {
    for (const auto& [name, schema] : value.items()) visit(schema, "/" + escape_pointer(name));
  }
  return {};
}

Result<int32_t> Document::find(const Json& schema, int32_t within, const std::string& step) {
  if (const auto found = numbers_.find(&schema); found != numbers_.end()) return found->second;
  const Place& from = place(within);
  const std::string pointer = from.pointer + step;
  if (!schema.is_object() && !schema.is_boolean())
    return fail("{}: a schema is an object, true or false", pointer);
  // A place that a pointer alone leads to: what stands inside of it is read as it is met.
  open_.push_back({&schema, from.base, pointer, from.draft7, 0});
  const int32_t number = add(schema, from.base, pointer, from.draft7);
  while (!open_.empty()) {
    const Visit at = open_.back();
    open_.pop_back();
    TRY_VOID(scan_one(at));
  }
  return number;
}

Result<int32_t> Document::follow(const std::string& resource, const std::string& pointer) {
  const auto start = resources_.find(resource);
  if (start == resources_.end()) return fail("'{}' is not in the document: nothing is fetched", resource);
  int32_t nearest = start->second;
  const Json* json = place(nearest).json;
  std::string tail;
  for (size_t at = 0; at < pointer.size();) {
    const size_t end = std::min(pointer.find('/', at + 1), pointer.size());
    const std::string token = pointer.substr(at + 1, end - at - 1);
    json = child(*json, unescaped_token(token));
    if (json == nullptr) return fail("'#{}' leads nowhere", pointer);
    tail += "/" + token;
    if (const auto known = numbers_.find(json); known != numbers_.end())
      nearest = known->second, tail.clear();
    at = end;
  }
  return find(*json, nearest, tail);
}

Result<int32_t> Document::resolve(int32_t from, const std::string& keyword, const std::string& reference) {
  const Place at = place(from);
  const std::string uri = resolve_uri(at.base, reference);
  const size_t hash = reference.find('#');
  const std::string fragment = hash == std::string::npos ? "" : percent_decoded(reference.substr(hash + 1));
  const std::string where = fmt::format("{}: keyword '{}'", at.pointer, keyword);
  if (fragment.empty() || fragment[0] == '/') return within(where, follow(uri, fragment));
  const auto anchor = anchors_.find(uri + "#" + fragment);
  if (anchor == anchors_.end())
    return fail("{}: '{}' is not in the document: nothing is fetched", where, reference);
  if (keyword == "$dynamicRef" && is_dynamic_.contains(anchor->first) && dynamic_anchors_[fragment] > 1)
    return fail("{}: the anchor '{}' has more than one place", where, fragment);
  return anchor->second;
}

}  // namespace brass::grammar::schema
