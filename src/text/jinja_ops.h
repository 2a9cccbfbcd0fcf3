// Python's operators on values.
//
// Owns: truth, equality, order, arithmetic, membership, attributes, items, slices, iteration.
// Must not know: syntax trees, filters.
// Invariants: what Python raises on is an error here; nothing is converted silently.
#pragma once

#include "text/jinja_ast.h"
#include "text/jinja_runtime.h"

namespace brass::jinja {

bool truthy(const Value& value);
Result<bool> equal(Runtime& rt, const Value& a, const Value& b);
Result<bool> less(Runtime& rt, const Value& a, const Value& b);
Result<bool> compare(Runtime& rt, CompareOp op, const Value& a, const Value& b);
Result<bool> contains(Runtime& rt, const Value& container, const Value& item);

Result<Value> arithmetic(Runtime& rt, BinaryOp op, const Value& a, const Value& b);
Result<Value> negate(const Value& value);
// ~: the texts of all values after one another; escaped where one is safe HTML, if that is asked for.
Result<Value> concat(Runtime& rt, const std::vector<Value>& values, bool escape);

// a.name: the attribute, else the item; a[key]: the item, else the attribute; undefined where there is
// neither.
Result<Value> get_attribute(Runtime& rt, const Value& object, const Value& name);
Result<Value> get_item(Runtime& rt, const Value& object, const Value& key);
Result<Value> get_slice(Runtime& rt, const Value& object, const Value& start, const Value& stop,
                        const Value& step);

bool iterable(const Value& value);
bool callable(const Value& value);
Result<Ref<Iterator>> iterate(Runtime& rt, const Value& value);
Result<std::vector<Value>> to_vector(Runtime& rt, const Value& value);
std::optional<size_t> length(const Value& value);

// Stable sort by less(); `keys` are parallel to `items`.
Result<> sort_by(Runtime& rt, std::vector<Value>& items, std::vector<Value> keys, bool reverse);

// The error for using an undefined value.
std::unexpected<Error> undefined_error(const Value& value);
std::unexpected<Error> operand_error(std::string_view op, const Value& a, const Value& b);
// An index as Python takes one: an int or bool.
Result<Int> to_index(const Value& value, std::string_view what);

}  // namespace brass::jinja
