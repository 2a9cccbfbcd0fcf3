// What a schema says of a value, as formulas over small assertions.
//
// Owns: the formulas (shared: equal ones have equal ids) and their negation. Must not know: JSON, grammars. Invariants:
// an assertion about one type says nothing about values of others, as JSON Schema's keywords do; references stay
// symbolic, so formulas are finite though schemas recurse.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "text/grammar/regex.h"

namespace brass::grammar::schema {

using FormulaId = int32_t;

enum class Kind : uint8_t {
  kTrue,
  kFalse,
  kAnd,       // parts
  kOr,        // parts
  kOneOf,     // exactly one of parts
  kNot,       // parts[0], a kRef, kOneOf, kNumber, kString or kNames, does not hold
  kRef,       // what schema a says
  kTypes,     // the type is in the mask a
  kNumber,    // a number is in NumberSets' a
  kString,    // a string is in StringSets' a
  kItem,      // the item at a, if there is one, fulfils parts[0]
  kItems,     // all items from a on do
  kLength,    // a to b items (b -1: no bound)
  kContains,  // a to b of the items from c on fulfil parts[0]
  kUnique,    // no two items are equal, says schema a
  kRepeats,   // two are
  kKey,       // the value at key a, if there is one, fulfils parts[0]
  kKeys,      // all values whose keys are in the key set a do
  kSomeKey,   // one of these does
  kNames,     // all keys, as strings, fulfil parts[0]
  kRequired,  // key a is there
  kCount,     // a to b members
};

namespace types {
constexpr int32_t kNull = 1, kFalse = 2, kTrue = 4, kNumber = 8, kString = 16, kArray = 32, kObject = 64,
                  kAll = 127;
}

struct Formula {
  Kind kind = Kind::kTrue;
  int32_t a = 0, b = 0, c = 0;
  std::vector<FormulaId> parts;
  bool operator==(const Formula&) const = default;
};

// Keys that match all of `within`, none of `outside` and are not in `except`.
struct KeySet {
  std::vector<std::string> except;
  std::vector<RegexId> within, outside;
  auto operator<=>(const KeySet&) const = default;
};

class Formulas {
 public:
  Formulas();

  const Formula& operator[](FormulaId id) const { return all_[static_cast<size_t>(id)]; }
  size_t size() const { return all_.size(); }

  FormulaId make(Formula formula);
  FormulaId yes() const { return yes_; }
  FormulaId no() const { return no_; }
  FormulaId all_of(std::vector<FormulaId> parts);
  FormulaId any_of(std::vector<FormulaId> parts);
  FormulaId one_of(std::vector<FormulaId> parts);
  FormulaId negate(FormulaId id);
  FormulaId types(int32_t mask);

  int32_t key(const std::string& name);
  const std::string& key_name(int32_t id) const { return key_names_[static_cast<size_t>(id)]; }
  int32_t key_set(const KeySet& set);
  const KeySet& key_set(int32_t id) const { return key_sets_[static_cast<size_t>(id)]; }

 private:
  struct Hash {
    size_t operator()(const Formula& f) const;
  };

  FormulaId negated(const Formula& f);
  FormulaId outside_counts(Kind kind, const Formula& f, int32_t type);
  FormulaId joined(Kind kind, std::vector<FormulaId> parts);

  // Deques: what was handed out by reference stays where it is.
  std::deque<Formula> all_;
  std::unordered_map<Formula, FormulaId, Hash> ids_;
  std::unordered_map<FormulaId, FormulaId> negations_;
  std::map<std::string, int32_t> keys_;
  std::deque<std::string> key_names_;
  std::map<KeySet, int32_t> key_set_ids_;
  std::deque<KeySet> key_sets_;
  FormulaId yes_ = 0, no_ = 0;
};

}  // namespace brass::grammar::schema
