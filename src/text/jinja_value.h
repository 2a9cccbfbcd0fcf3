// Values of the template language: Python's, as far as a template can see them.
//
// Owns: Value (undefined, none, bool, int, float, string, list, tuple, dict, or another object), the objects
// that values share by reference, and Heap, which counts their bytes against a budget. Must not know: syntax
// trees, filters, how a value is computed or printed. Invariants: strings are immutable valid UTF-8 with
// provenance. What a template creates lives on the Heap of its render, which outlives it and breaks reference
// cycles at the end; what comes from outside (heap() null) is frozen: templates cannot change it, and its
// text counts as input. Reference counts of what comes from outside are atomic: a parsed template's constants
// are shared by threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "text/jinja_text.h"

namespace brass::jinja {

__extension__ typedef __int128 Int;  // wider than 64 bits; overflow is an error, not a wrap

class Heap;
class Value;

// Base of all that values share by reference.
class Object {
 public:
  explicit Object(Heap* heap) : heap_(heap) {}
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;

  Heap* heap() const { return heap_; }
  // What a render made only its own thread sees: its counts need no locked instructions.
  void retain() const {
    if (heap_ != nullptr) {
      refs_.store(refs_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    } else {
      refs_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  void release() const {
    if (heap_ != nullptr) {
      const uint32_t left = refs_.load(std::memory_order_relaxed) - 1;
      refs_.store(left, std::memory_order_relaxed);
      if (left == 0) delete this;
    } else if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete this;
    }
  }
  // Python's name of the type, for messages and repr.
  virtual std::string_view type_name() const = 0;

 private:
  mutable std::atomic<uint32_t> refs_{0};
  Heap* heap_;
};

template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* object) : object_(object) {
    if (object_ != nullptr) object_->retain();
  }
  Ref(const Ref& other) : Ref(other.object_) {}
  template <class U>
    requires std::is_convertible_v<U*, T*>
  Ref(const Ref<U>& other) : Ref(static_cast<T*>(other.get())) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr) object_->release();
  }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

template <class T, class... Args>
Ref<T> make(Args&&... args) {
  return Ref<T>(new T(std::forward<Args>(args)...));
}

enum class Kind : uint8_t { undefined, none, boolean, integer, real, string, list, tuple, dict, object };

class Opaque;
class Str;
class List;
class Dict;

class Value {
 public:
  Value() = default;  // undefined, without a name
  static Value undefined(Ref<Object> name) { return Value(Kind::undefined, std::move(name)); }
  static Value none() { return Value(Kind::none); }
  static Value boolean(bool b) { return Value(Kind::boolean, Int{b}); }
  static Value integer(Int i) { return Value(Kind::integer, i); }
  static Value real(double d);
  static Value string(Ref<Str> s);
  static Value list(Ref<List> l);
  static Value tuple(Ref<List> l);
  static Value dict(Ref<Dict> d);
  // `o` is an Opaque (jinja_runtime.h).
  static Value object(Ref<Object> o) { return Value(Kind::object, std::move(o)); }

  Kind kind() const { return kind_; }
  bool is(Kind k) const { return kind_ == k; }
  bool is_undefined() const { return kind_ == Kind::undefined; }
  bool is_none() const { return kind_ == Kind::none; }
  bool is_string() const { return kind_ == Kind::string; }
  bool is_sequence() const { return kind_ == Kind::list || kind_ == Kind::tuple; }
  // An int in Python's sense: bool is one too.
  bool is_integral() const { return kind_ == Kind::integer || kind_ == Kind::boolean; }
  bool is_number() const { return is_integral() || kind_ == Kind::real; }

  bool as_bool() const { return scalar_.integer != 0; }  // boolean only
  Int as_int() const { return scalar_.integer; }         // integral only
  double as_real() const { return scalar_.real; }        // real only
  double to_double() const {
    return kind_ == Kind::real ? scalar_.real : static_cast<double>(scalar_.integer);
  }
  const Str& str() const;  // string only
  const std::string& bytes() const;
  List& items() const;  // list and tuple only
  Dict& mapping() const;
  Object* raw() const { return object_.get(); }
  template <class T>
  T* as() const {  // the object of that class, or null
    if (kind_ != Kind::object) return nullptr;
    if constexpr (std::is_same_v<T, Opaque>) {
      return static_cast<T*>(object_.get());  // every object is one
    } else if constexpr (std::is_final_v<T>) {
      const auto& object = *object_;  // apart: typeid evaluates what it is given
      return typeid(object) == typeid(T) ? static_cast<T*>(object_.get()) : nullptr;
    } else {
      return dynamic_cast<T*>(object_.get());
    }
  }
  // What an undefined value was called, or "".
  std::string_view undefined_name() const;

 private:
  explicit Value(Kind kind) : kind_(kind) {}
  Value(Kind kind, Int i) : kind_(kind) { scalar_.integer = i; }
  Value(Kind kind, Ref<Object> object) : kind_(kind), object_(std::move(object)) {}

  union Scalar {
    Int integer;
    double real;
  } scalar_ = {0};
  Kind kind_ = Kind::undefined;
  Ref<Object> object_;
};

// The memory of one render. Objects charge their bytes when made and give them back when they die.
class Heap {
 public:
  explicit Heap(size_t limit) : limit_(limit) {}
  ~Heap();
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  void charge(size_t bytes) { used_ += bytes; }
  void discharge(size_t bytes) { used_ -= bytes; }
  bool exhausted() const { return used_ > limit_; }
  // Whether `bytes` more would fit; asked before an operation that can make much out of little.
  bool fits(size_t bytes) const { return bytes <= limit_ && used_ <= limit_ - bytes; }

  Value string(Text text, bool markup = false);
  Value string(std::string_view bytes, bool trusted) { return string(Text(std::string(bytes), trusted)); }
  Value list(std::vector<Value> items);
  Value tuple(std::vector<Value> items);
  Value group(std::vector<Value> pair);  // a tuple whose items are also its attributes grouper and list
  Value dict();

  // Lets values die without recursion, however deeply they are nested.
  void bury(std::vector<Value>&& values);

 private:
  friend class Container;
  size_t limit_;
  size_t used_ = 0;
  class Container* containers_ = nullptr;
  bool burying_ = false;
  std::vector<Value> graveyard_;
};

class Str final : public Object {
 public:
  Str(Heap* heap, Text text, bool markup);
  ~Str() override;
  std::string_view type_name() const override { return markup_ ? "Markup" : "str"; }
  const Text& text() const { return text_; }
  const std::string& bytes() const { return text_.bytes(); }
  bool markup() const { return markup_; }  // safe HTML: what is joined to it gets escaped
  bool ascii() const { return length_ == text_.size(); }
  size_t length() const { return length_; }  // code points
  // Byte offset of code point `index` in [0, length].
  size_t offset(size_t index) const;

 private:
  Text text_;
  size_t length_;
  size_t charge_ = 0;
  bool markup_;
};

// An object that can hold values and so be part of a cycle; its heap knows it.
class Container : public Object {
 public:
  explicit Container(Heap* heap);
  ~Container() override;
  virtual void clear() = 0;  // lets go of all values, by Heap::bury where there is a heap

 protected:
  void recharge(size_t bytes);  // states the bytes that it holds now

 private:
  friend class Heap;
  Container* previous_ = nullptr;
  Container* next_ = nullptr;
  size_t charge_ = 0;
};

// list and tuple (the kind is in the Value).
class List final : public Container {
 public:
  List(Heap* heap, std::vector<Value> items, bool group = false);
  ~List() override { clear(); }
  std::string_view type_name() const override { return "list"; }
  void clear() override;
  const std::vector<Value>& get() const { return items_; }
  size_t size() const { return items_.size(); }
  const Value& operator[](size_t i) const { return items_[i]; }
  bool group() const { return group_; }  // made by groupby: named grouper and list
  // Calls f(items) to change them.
  template <class F>
  void change(F&& f) {
    f(items_);
    recharge(items_.capacity() * sizeof(Value));
  }

 private:
  std::vector<Value> items_;
  bool group_;
};

// Insertion-ordered. Keys compare as in Python: 1, 1.0 and true are one key.
class Dict final : public Container {
 public:
  using Entry = std::pair<Value, Value>;
  explicit Dict(Heap* heap) : Container(heap) {}
  ~Dict() override { clear(); }
  std::string_view type_name() const override { return "dict"; }
  void clear() override;
  const std::vector<Entry>& entries() const { return entries_; }
  size_t size() const { return entries_.size(); }
  const Value* find(const Value& key) const;  // the key must be hashable
  const Value* find(std::string_view key) const;
  void set(Value key, Value value);
  bool erase(const Value& key);

 private:
  template <class Matches>
  size_t locate(Matches&& matches, size_t hash) const;  // index, or size()
  size_t locate(const Value& key) const;
  void build_index();

  std::vector<Entry> entries_;
  std::unordered_multimap<size_t, uint32_t> index_;  // hash → entry, for large dicts only
};

inline const Str& Value::str() const { return static_cast<const Str&>(*object_); }
inline const std::string& Value::bytes() const { return str().bytes(); }
inline List& Value::items() const { return static_cast<List&>(*object_); }
inline Dict& Value::mapping() const { return static_cast<Dict&>(*object_); }

// Whether a value may be a dict key, and equality and hash as Python's for those that may.
bool hashable(const Value& value);
size_t hash_key(const Value& value);
size_t hash_bytes(std::string_view bytes);
bool same_key(const Value& a, const Value& b);

// Numbers of any kind compare by value, exactly. Returns -1, 0, 1, or 2 where one is not a number (NaN).
int compare_numbers(const Value& a, const Value& b);

// Frozen values, from outside a render.
Value frozen_string(std::string_view bytes, bool trusted);
Value frozen_string(std::string_view bytes, Origin origin);
Value frozen_list(std::vector<Value> items);
Ref<Dict> frozen_dict();

// Python's name of a value's type.
std::string_view type_name(const Value& value);

}  // namespace brass::jinja
