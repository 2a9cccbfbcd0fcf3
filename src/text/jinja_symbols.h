// The names of a scope while scopes are being built (jinja_scope.h).
//
// Owns: Function, Symbols: which names a scope reads and assigns, and where each lives.
// Must not know: statements.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/check.h"
#include "text/jinja_ast.h"

namespace brass::jinja {

// What a run of the template calls: its slots are numbered here.
struct Function {
  Function* outer = nullptr;
  std::map<std::pair<int, std::string>, uint32_t> slots;  // (level of the scope, name)
};

// Where a variable lives, while scopes are being built.
struct Place {
  const Function* function = nullptr;
  uint32_t index = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

enum class How : uint8_t { parameter, resolve, alias, undefine };

// The names of one scope.
class Symbols {
 public:
  Symbols(Symbols* outer, Function* function)
      : outer_(outer), function_(function), level_(outer == nullptr ? 0 : outer->level_ + 1) {}

  Function* function() const { return function_; }
  bool top_level() const { return outer_ == nullptr; }
  std::optional<Place> find(const std::string& name) const {
    for (const Symbols* s = this; s != nullptr; s = s->outer_) {
      const auto it = s->refs_.find(name);
      if (it != s->refs_.end()) return it->second;
    }
    return std::nullopt;
  }
  void load(const std::string& name) {
    if (!find(name)) define(name, {How::resolve, {}, name});
  }
  void store(const std::string& name) {
    stores_.insert(name);
    if (refs_.contains(name)) return;
    const auto outside = outer_ == nullptr ? std::nullopt : outer_->find(name);
    define(name, outside ? Entry{How::alias, *outside, name} : Entry{How::undefine, {}, name});
  }
  uint32_t parameter(const std::string& name) {
    stores_.insert(name);
    return define(name, {How::parameter, {}, name});
  }
  // Takes over what the branches of an `if` found: what only a branch assigns keeps its outer value
  // elsewhere.
  void merge(const std::vector<Symbols>& branches) {
    std::set<std::string> assigned;
    for (const Symbols& branch : branches) assigned.insert(branch.stores_.begin(), branch.stores_.end());
    for (const std::string& name : stores_) assigned.erase(name);
    for (const Symbols& branch : branches) {
      for (const auto& [name, place] : branch.refs_) refs_[name] = place;
      for (const auto& [index, entry] : branch.loads_) loads_[index] = entry;
      stores_.insert(branch.stores_.begin(), branch.stores_.end());
    }
    for (const std::string& name : assigned) {
      const auto outside = outer_ == nullptr ? std::nullopt : outer_->find(name);
      loads_[refs_.at(name).index] =
          outside ? Entry{How::alias, *outside, name} : Entry{How::resolve, {}, name};
    }
  }
  // All names that this scope and those around it assign.
  std::set<std::string> stored() const {
    std::set<std::string> out;
    for (const Symbols* s = this; s != nullptr; s = s->outer_)
      out.insert(s->stores_.begin(), s->stores_.end());
    return out;
  }
  Slot slot(const std::string& name) const {
    const auto place = find(name);
    ENSURE(place.has_value(), "name '{}' was not seen by the scope", name);
    return relative(*place);
  }
  Scope scope() const {
    Scope out;
    for (const auto& [index, entry] : loads_) {
      out.owned.push_back(index);
      if (entry.how == How::resolve)
        out.loads.push_back({Load::resolve, index, {}, frozen_string(entry.name, true)});
      if (entry.how == How::alias) out.loads.push_back({Load::alias, index, relative(entry.from), {}});
      if (entry.how == How::undefine) out.loads.push_back({Load::undefine, index, {}, {}});
    }
    return out;
  }

 private:
  struct Entry {
    How how;
    Place from;
    std::string name;
  };
  uint32_t define(const std::string& name, Entry entry) {
    const auto [it, fresh] =
        function_->slots.try_emplace({level_, name}, static_cast<uint32_t>(function_->slots.size()));
    refs_[name] = Place{function_, it->second};
    loads_[it->second] = std::move(entry);
    return it->second;
  }
  Slot relative(const Place& place) const {
    uint32_t hops = 0;
    for (const Function* f = function_; f != place.function; f = f->outer) {
      ENSURE(f != nullptr, "a variable's function encloses its use");
      hops++;
    }
    return {hops, place.index};
  }

  Symbols* outer_;
  Function* function_;
  int level_;
  std::map<std::string, Place> refs_;
  std::map<uint32_t, Entry> loads_;
  std::set<std::string> stores_;
};

}  // namespace brass::jinja
