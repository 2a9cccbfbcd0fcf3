// The functions that every template can call (jinja_runtime.h, find_global).
#include <ctime>

#include "text/jinja_ops.h"
#include "text/jinja_repr.h"

namespace brass::jinja {
namespace {

constexpr Int kMaxRange = 100'000;  // what Jinja's sandbox allows

Result<Value> range(Runtime& rt, Args& args) {
  if (!args.named.empty()) return fail("range takes no named arguments");
  const auto& given = args.positional;
  if (given.empty() || given.size() > 3) return fail("range takes 1 to 3 arguments, got {}", given.size());
  Int parts[3] = {0, 0, 1};
  for (size_t i = 0; i < given.size(); i++) {
    const Int part = TRY(to_index(given[i], "an argument of range"));
    if (part > (Int{1} << 100) || part < -(Int{1} << 100)) return fail("an argument of range is too large");
    parts[given.size() == 1 ? 1 : i] = part;
  }
  if (parts[2] == 0) return fail("the step of range is zero");
  Ref<Range> out = make<Range>(&rt.heap(), parts[0], parts[1], parts[2]);
  if (out->count() > kMaxRange)
    return fail("range is too big: more than {} items", static_cast<int64_t>(kMaxRange));
  return Value::object(out);
}

// Sets what dict(...) and namespace(...) are given: a dict or pairs, then named values.
Result<> fill(Runtime& rt, Dict& dict, Args& args, std::string_view name) {
  if (args.positional.size() > 1) return fail("{} takes at most 1 positional argument", name);
  for (const Value& source : args.positional) {
    if (source.is(Kind::dict)) {
      for (const auto& [key, value] : source.mapping().entries()) dict.set(key, value);
      TRY(rt.step(source.mapping().size()));
      continue;
    }
    const std::vector<Value> pairs = TRY(to_vector(rt, source));
    for (const Value& pair : pairs) {
      const std::vector<Value> two = TRY(to_vector(rt, pair));
      if (two.size() != 2) return fail("{} needs pairs of key and value", name);
      if (!hashable(two[0])) return fail("a {} cannot be a dict key", type_name(two[0]));
      dict.set(two[0], two[1]);
    }
  }
  for (auto& [key, value] : args.named) dict.set(std::move(key), std::move(value));
  return {};
}

Result<Value> dict(Runtime& rt, Args& args) {
  Value out = rt.heap().dict();
  TRY(fill(rt, out.mapping(), args, "dict"));
  return out;
}

Result<Value> namespace_(Runtime& rt, Args& args) {
  Ref<Namespace> out = make<Namespace>(&rt.heap());
  TRY(fill(rt, out->values(), args, "namespace"));
  return Value::object(out);
}

Result<Value> raise_exception(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "raise_exception", {"message"}, 1));
  const Text text = TRY(to_text(rt, *bound[0]));
  return fail("{}", text.view());
}

Result<Value> strftime_now(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "strftime_now", {"format"}, 1));
  if (!bound[0]->is_string()) return fail("strftime_now needs a format string, not {}", type_name(*bound[0]));
  const std::string& format = bound[0]->bytes();
  if (format.empty()) return rt.string(std::string_view());
  const std::time_t now =
      rt.options().clock ? static_cast<std::time_t>(*rt.options().clock) : std::time(nullptr);
  std::tm parts{};
  const bool known =
      rt.options().clock ? gmtime_r(&now, &parts) != nullptr : localtime_r(&now, &parts) != nullptr;
  if (!known || format.size() > 1000) return fail("strftime_now cannot format this time");
  if (rt.options().clock) parts.tm_gmtoff = 0, parts.tm_zone = "";
  // A final mark tells an empty result from one that does not fit.
  std::string out(format.size() * 32 + 64, '\0');
  const size_t size = std::strftime(out.data(), out.size(), (format + "|").c_str(), &parts);
  if (size == 0) return fail("strftime_now cannot format this time");
  return rt.string(std::string_view(out).substr(0, size - 1), bound[0]->str().text().trusted());
}

// cycler(a, b, …): next() and current step through the items.
class Cycler final : public Opaque {
 public:
  Cycler(Heap* heap, std::vector<Value> items) : Opaque(heap), items_(std::move(items)) {}
  void clear() override { items_.clear(); }
  std::string_view type_name() const override { return "Cycler"; }
  Result<Value> attribute(Runtime& rt, const Value& name) override;
  Value current() const { return items_[at_]; }
  Value next() {
    Value out = items_[at_];
    at_ = (at_ + 1) % items_.size();
    return out;
  }
  void reset() { at_ = 0; }

 private:
  std::vector<Value> items_;
  size_t at_ = 0;
};

Result<Value> cycler_next(Runtime&, Args& args) { return args.positional[0].as<Cycler>()->next(); }
Result<Value> cycler_reset(Runtime&, Args& args) {
  args.positional[0].as<Cycler>()->reset();
  return Value::none();
}
constexpr Builtin kCyclerNext = {"next", cycler_next};
constexpr Builtin kCyclerReset = {"reset", cycler_reset};

Result<Value> Cycler::attribute(Runtime& rt, const Value& name) {
  if (items_.empty()) return Value();
  if (name.bytes() == "current") return current();
  for (const Builtin* method : {&kCyclerNext, &kCyclerReset}) {
    if (name.bytes() == method->name) {
      return Value::object(make<BoundMethod>(&rt.heap(), Value::object(Ref<Object>(this)), method));
    }
  }
  return Value::undefined(Ref<Object>(name.raw()));
}

Result<Value> cycler(Runtime& rt, Args& args) {
  if (args.positional.empty() || !args.named.empty()) return fail("cycler needs items");
  return Value::object(make<Cycler>(&rt.heap(), std::move(args.positional)));
}

// joiner(separator): nothing when first called, then the separator.
class Joiner final : public Opaque {
 public:
  Joiner(Heap* heap, Value separator) : Opaque(heap), separator_(std::move(separator)) {}
  void clear() override { separator_ = Value(); }
  std::string_view type_name() const override { return "Joiner"; }
  bool callable() const override { return true; }
  Result<Value> call(Runtime& rt, Args args) override {
    if (!args.positional.empty() || !args.named.empty()) return fail("a joiner takes no arguments");
    return std::exchange(used_, true) ? separator_ : rt.string(std::string_view());
  }

 private:
  Value separator_;
  bool used_ = false;
};

Result<Value> joiner(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "joiner", {"sep"}, 0));
  return Value::object(make<Joiner>(&rt.heap(), bound.has(0) ? *bound[0] : rt.string(", ")));
}

constexpr Builtin kGlobals[] = {
    {"cycler", cycler},
    {"dict", dict},
    {"joiner", joiner},
    {"namespace", namespace_},
    {"raise_exception", raise_exception},
    {"range", range},
    {"strftime_now", strftime_now},
};
static_assert(in_order(kGlobals));

}  // namespace

const Builtin* find_global(std::string_view name) { return find_in({{kGlobals, std::size(kGlobals)}}, name); }

}  // namespace brass::jinja
