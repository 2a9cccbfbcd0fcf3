#include "text/jinja_value.h"

#include <cmath>
#include <functional>

#include "text/jinja_unicode.h"

namespace brass::jinja {

Value Value::real(double d) {
  Value v(Kind::real);
  v.scalar_.real = d;
  return v;
}
Value Value::string(Ref<Str> s) { return Value(Kind::string, std::move(s)); }
Value Value::list(Ref<List> l) { return Value(Kind::list, std::move(l)); }
Value Value::tuple(Ref<List> l) { return Value(Kind::tuple, std::move(l)); }
Value Value::dict(Ref<Dict> d) { return Value(Kind::dict, std::move(d)); }

std::string_view Value::undefined_name() const {
  const auto* name = dynamic_cast<const Str*>(object_.get());
  return name == nullptr ? std::string_view() : std::string_view(name->bytes());
}

Heap::~Heap() {
  while (containers_ != nullptr) {
    const Ref<Container> first(containers_);
    containers_ = first->next_;
    if (containers_ != nullptr) containers_->previous_ = nullptr;
    first->next_ = nullptr;
    first->clear();
  }
}

Value Heap::string(Text text, bool markup) { return Value::string(make<Str>(this, std::move(text), markup)); }
Value Heap::list(std::vector<Value> items) { return Value::list(make<List>(this, std::move(items))); }
Value Heap::tuple(std::vector<Value> items) { return Value::tuple(make<List>(this, std::move(items))); }
Value Heap::group(std::vector<Value> pair) { return Value::tuple(make<List>(this, std::move(pair), true)); }
Value Heap::dict() { return Value::dict(make<Dict>(this)); }

void Heap::bury(std::vector<Value>&& values) {
  if (graveyard_.empty()) {
    graveyard_ = std::move(values);
  } else {
    std::move(values.begin(), values.end(), std::back_inserter(graveyard_));
  }
  if (burying_) return;
  burying_ = true;
  while (!graveyard_.empty()) {
    const Value last = std::move(graveyard_.back());
    graveyard_.pop_back();
  }
  burying_ = false;
}

Str::Str(Heap* heap, Text text, bool markup)
    : Object(heap), text_(std::move(text)), length_(count_code_points(text_.view())), markup_(markup) {
  if (heap != nullptr) heap->charge(charge_ = sizeof(Str) + text_.footprint());
}

Str::~Str() {
  if (heap() != nullptr) heap()->discharge(charge_);
}

size_t Str::offset(size_t index) const { return ascii() ? index : code_point_offset(text_.view(), index); }

Container::Container(Heap* heap) : Object(heap) {
  if (heap == nullptr) return;
  next_ = heap->containers_;
  if (next_ != nullptr) next_->previous_ = this;
  heap->containers_ = this;
  heap->charge(charge_ = sizeof(List));
}

Container::~Container() {
  if (heap() == nullptr) return;
  heap()->discharge(charge_);
  if (heap()->containers_ == this) heap()->containers_ = next_;
  if (previous_ != nullptr) previous_->next_ = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
}

void Container::recharge(size_t bytes) {
  if (heap() == nullptr) return;
  heap()->discharge(charge_);
  heap()->charge(charge_ = sizeof(List) + bytes);
}

List::List(Heap* heap, std::vector<Value> items, bool group)
    : Container(heap), items_(std::move(items)), group_(group) {
  recharge(items_.capacity() * sizeof(Value));
}

void List::clear() {
  std::vector<Value> items = std::move(items_);
  items_.clear();
  if (heap() != nullptr && !items.empty()) heap()->bury(std::move(items));
}

void Dict::clear() {
  std::vector<Entry> entries = std::move(entries_);
  entries_.clear();
  index_.clear();
  if (heap() == nullptr || entries.empty()) return;
  std::vector<Value> values;
  values.reserve(entries.size() * 2);
  for (auto& [key, value] : entries) {
    values.push_back(std::move(key));
    values.push_back(std::move(value));
  }
  heap()->bury(std::move(values));
}

// Below this many entries a scan beats a hash table.
constexpr size_t kIndexFrom = 16;

void Dict::build_index() {
  index_.clear();
  if (entries_.size() < kIndexFrom) return;
  for (size_t i = 0; i < entries_.size(); i++) index_.emplace(hash_key(entries_[i].first), i);
}

template <class Matches>
size_t Dict::locate(Matches&& matches, size_t hash) const {
  if (index_.empty()) {
    for (size_t i = 0; i < entries_.size(); i++) {
      if (matches(entries_[i].first)) return i;
    }
    return entries_.size();
  }
  const auto [begin, end] = index_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (matches(entries_[it->second].first)) return it->second;
  }
  return entries_.size();
}

size_t Dict::locate(const Value& key) const {
  if (key.is_string()) {
    const std::string& bytes = key.bytes();
    return locate([&](const Value& other) { return other.is_string() && other.bytes() == bytes; },
                  index_.empty() ? 0 : hash_bytes(bytes));
  }
  return locate([&](const Value& other) { return same_key(other, key); }, index_.empty() ? 0 : hash_key(key));
}

const Value* Dict::find(const Value& key) const {
  const size_t i = locate(key);
  return i == entries_.size() ? nullptr : &entries_[i].second;
}

const Value* Dict::find(std::string_view key) const {
  const auto matches = [&](const Value& other) { return other.is_string() && other.bytes() == key; };
  const size_t i = locate(matches, index_.empty() ? 0 : hash_bytes(key));
  return i == entries_.size() ? nullptr : &entries_[i].second;
}

void Dict::set(Value key, Value value) {
  const size_t i = locate(key);
  if (i < entries_.size()) {
    entries_[i].second = std::move(value);
    return;
  }
  if (!index_.empty()) index_.emplace(hash_key(key), entries_.size());
  entries_.emplace_back(std::move(key), std::move(value));
  if (index_.empty()) build_index();
  recharge(entries_.capacity() * sizeof(Entry) + index_.size() * 48);  // 48: a hash node
}

bool Dict::erase(const Value& key) {
  const size_t i = locate(key);
  if (i == entries_.size()) return false;
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(i));
  build_index();
  return true;
}

// Deeper tuples than this are refused as keys, so that hashing and comparing keys may recurse.
constexpr int kMaxKeyDepth = 64;

static bool hashable_to(const Value& value, int depth) {
  if (value.is(Kind::list) || value.is(Kind::dict) || depth > kMaxKeyDepth) return false;
  if (!value.is(Kind::tuple)) return true;
  for (const Value& item : value.items().get()) {
    if (!hashable_to(item, depth + 1)) return false;
  }
  return true;
}

bool hashable(const Value& value) { return hashable_to(value, 0); }

size_t hash_bytes(std::string_view bytes) { return std::hash<std::string_view>{}(bytes); }

size_t hash_key(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined:
      return 1;
    case Kind::none:
      return 2;
    case Kind::boolean:
    case Kind::integer:
      return std::hash<double>{}(static_cast<double>(value.as_int()));
    case Kind::real:
      return std::hash<double>{}(value.as_real());
    case Kind::string:
      return hash_bytes(value.bytes());
    case Kind::tuple: {
      size_t hash = 3;
      for (const Value& item : value.items().get()) hash = hash * 1000003 + hash_key(item);
      return hash;
    }
    default:
      return std::hash<const void*>{}(value.raw());
  }
}

int compare_numbers(const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) return a.as_int() < b.as_int() ? -1 : a.as_int() > b.as_int();
  const double x = a.to_double(), y = b.to_double();
  if (std::isnan(x) || std::isnan(y)) return 2;
  if (x != y || (a.is(Kind::real) && b.is(Kind::real))) return x < y ? -1 : x > y;
  // One is an int that may have been rounded: compare as ints where the float is one that fits.
  if (std::fabs(x) >= 0x1p126) return 0;
  const Int i = a.is(Kind::real) ? static_cast<Int>(x) : a.as_int();
  const Int j = b.is(Kind::real) ? static_cast<Int>(y) : b.as_int();
  return i < j ? -1 : i > j;
}

bool same_key(const Value& a, const Value& b) {
  if (a.is_string() || b.is_string()) return a.kind() == b.kind() && a.bytes() == b.bytes();
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == 0;
  if (a.kind() != b.kind()) return false;
  if (a.is_undefined() || a.is_none()) return true;
  if (a.is(Kind::tuple)) {
    const auto &x = a.items().get(), &y = b.items().get();
    if (x.size() != y.size()) return false;
    for (size_t i = 0; i < x.size(); i++) {
      if (!same_key(x[i], y[i])) return false;
    }
    return true;
  }
  return a.raw() == b.raw();
}

Value frozen_string(std::string_view bytes, bool trusted) {
  return frozen_string(bytes, Origin::of(trusted));
}
Value frozen_string(std::string_view bytes, Origin origin) {
  return Value::string(make<Str>(nullptr, Text(std::string(bytes), origin), false));
}
Value frozen_list(std::vector<Value> items) { return Value::list(make<List>(nullptr, std::move(items))); }
Ref<Dict> frozen_dict() { return make<Dict>(nullptr); }

std::string_view type_name(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined:
      return "Undefined";
    case Kind::none:
      return "NoneType";
    case Kind::boolean:
      return "bool";
    case Kind::integer:
      return "int";
    case Kind::real:
      return "float";
    case Kind::tuple:
      return "tuple";
    default:
      return value.raw()->type_name();
  }
}

}  // namespace brass::jinja
