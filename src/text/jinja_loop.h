// The `loop` variable.
//
// Owns: Loop: the items of a running for loop, one looked at ahead, and what a template can ask about them.
// Must not know: how bodies run.
#pragma once

#include "text/jinja_runtime.h"

namespace brass::jinja {

class Loop final : public Opaque {
 public:
  // Runs the loop's body on other items, one level deeper; empty if the loop is not recursive.
  using Recurse = std::function<Result<Value>(const Value& items, int depth)>;

  Loop(Heap* heap, Value items, Ref<Iterator> iterator, Recurse recurse, int depth)
      : Opaque(heap),
        items_(std::move(items)),
        iterator_(std::move(iterator)),
        recurse_(std::move(recurse)),
        depth_(depth) {}

  Result<bool> advance(Runtime& rt, Value& out);

  void clear() override;
  std::string_view type_name() const override { return "LoopContext"; }
  std::optional<size_t> length() const override { return jinja_length_; }
  Result<Value> attribute(Runtime& rt, const Value& name) override;
  bool callable() const override { return true; }
  Result<Value> call(Runtime& rt, Args args) override;
  std::string repr() const override;

  Result<Value> cycle(const Args& args) const;
  Result<Value> changed(Runtime& rt, Args& args);

 private:
  Result<bool> peek(Runtime& rt);  // whether there is a next item
  Result<Int> count(Runtime& rt);

  Value items_;
  Ref<Iterator> iterator_;
  Recurse recurse_;
  int depth_;
  Int index0_ = -1;
  std::optional<size_t> jinja_length_;
  std::optional<Value> after_;
  bool at_end_ = false;
  Value before_, current_;
  std::optional<std::vector<Value>> seen_;  // what changed() was last called with
};

}  // namespace brass::jinja
