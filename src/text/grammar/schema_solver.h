// What a formula allows of each type: sets of constants, numbers, strings; cases of arrays and of objects.
//
// Owns: the evaluation of formulas, type by type, and proofs that nothing is left. Must not know: grammars. Invariants:
// exact: what cannot be decided is an error with the place's name; a case is a list of assertions that all hold, and the
// cases together are the formula; work and numbers of cases are bounded.
#pragma once

#include <array>
#include <optional>
#include <set>

#include "text/grammar/schema_reader.h"

namespace brass::grammar::schema {

enum class Composite : uint8_t { kArray, kObject };

using Case = std::vector<FormulaId>;  // sorted assertions about the one type
using Cases = std::vector<Case>;

// The case of an array, put together.
struct ArrayShape {
  struct Contains {
    FormulaId item;
    int min, max, from;
  };
  std::vector<FormulaId> prefix;
  FormulaId rest = 0;
  int min = 0, max = -1;
  std::vector<Contains> contains;
  bool unique = false, repeats = false;
  int32_t place = 0;  // of the schema that says one of these
};

// The case of an object, put together.
struct ObjectShape {
  struct Named {
    int32_t key;
    FormulaId value;
    bool required;
  };
  struct Others {
    StringId keys;
    FormulaId value;
    uint32_t some;  // which of `some` these keys may fulfil
  };
  struct Some {
    int32_t keys;  // the key set's number
    FormulaId value;
  };
  std::vector<Named> named;  // without those that cannot be
  std::vector<std::string> forbidden;
  std::vector<Others> others;  // disjoint sets of keys, none of them named or forbidden
  int min = 0, max = -1;
  std::vector<Some> some;
};

constexpr size_t kMaxNesting = 800;  // of formulas that are looked through at once

class Solver {
 public:
  Solver(Reader& reader, Sets& sets, const SchemaOptions& options)
      : reader_(reader), sets_(sets), f_(sets.formulas), options_(options) {}

  Result<int32_t> constants(FormulaId id);  // of types::kNull, kFalse, kTrue
  Result<NumberId> numbers(FormulaId id);
  Result<StringId> strings(FormulaId id);
  Result<Cases> cases(FormulaId id, Composite type);

  // Nothing: the case cannot be.
  Result<std::optional<ArrayShape>> array(const Case& of);
  Result<std::optional<ObjectShape>> object(const Case& of);

  // True only where no value is left; never an error: what is not known is not nothing.
  bool is_nothing(FormulaId id);

  // Whether there is no array and no object among the values.
  Result<bool> only_scalars(FormulaId id);
  // All values, where they are few and listed: as formulas of one value each.
  Result<std::optional<std::vector<FormulaId>>> listed(FormulaId id);

  bool in_key_set(const KeySet& set, std::string_view key);
  const std::string& last_place() const { return last_place_; }
  Result<> spend(size_t steps = 1);

 private:
  template <class Value>
  struct Memo {
    std::unordered_map<FormulaId, Value> known;
    std::set<FormulaId> open;
  };

  template <class Value, class Evaluate>
  Result<Value> once(Memo<Value>& memo, FormulaId id, const Evaluate& evaluate);
  Result<FormulaId> follow(FormulaId id);  // of a reference or its negation: what it says

  Result<int32_t> constants_of(FormulaId id);
  Result<NumberId> numbers_of(FormulaId id);
  Result<NumberId> one_number(const Formula& f);
  Result<StringId> strings_of(FormulaId id);
  Result<StringId> one_string(const Formula& f);

  Result<Cases> cases_of(FormulaId id, Composite type);
  Result<Cases> all_cases(const Formula& f, Composite type);
  Result<Cases> any_cases(const Formula& f, Composite type);
  Result<Cases> one_cases(const Formula& f, Composite type);
  Result<Cases> not_one_cases(const Formula& f, Composite type);
  Result<Cases> multiply(const Cases& left, const Cases& right, Composite type);
  Result<bool> told_apart(const std::vector<Cases>& all);
  Result<bool> overlap(const Cases& a, const Cases& b, Composite type);
  bool is_dead(const Case& of, Composite type);
  Result<FormulaId> names(FormulaId id);  // kNames as kKeys

  Result<bool> add_items(const Case& of, ArrayShape& shape);
  bool close_array(ArrayShape& shape);
  Result<bool> add_named(const Case& of, ObjectShape& shape);
  Result<> add_others(const Case& of, const std::vector<std::string>& named, ObjectShape& shape);
  bool close_object(ObjectShape& shape);
  std::unexpected<Error> too_many(size_t limit) const;

  Reader& reader_;
  Sets& sets_;
  Formulas& f_;
  const SchemaOptions& options_;
  Memo<int32_t> constants_;
  Memo<NumberId> numbers_;
  Memo<StringId> strings_;
  std::array<Memo<Cases>, 2> cases_;
  std::unordered_map<FormulaId, bool> nothing_;
  int depth_ = 0;  // of is_nothing
  int64_t work_ = 0;
  std::string last_place_ = "#";
};

template <class Value, class Evaluate>
Result<Value> Solver::once(Memo<Value>& memo, FormulaId id, const Evaluate& evaluate) {
  if (const auto found = memo.known.find(id); found != memo.known.end()) return found->second;
  if (!memo.open.insert(id).second)
    return wrong_use("{}: keyword '$ref': it leads back to itself with nothing in between", last_place_);
  if (memo.open.size() > kMaxNesting)
    return wrong_use("{}: references and combinations nest deeper than {} levels", last_place_, kMaxNesting);
  Result<Value> value = evaluate();
  memo.open.erase(id);
  if (value) memo.known.emplace(id, *value);
  return value;
}

}  // namespace brass::grammar::schema
