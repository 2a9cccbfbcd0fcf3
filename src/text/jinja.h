// Renders chat templates: the Jinja language as Python's `transformers` runs it.
//
// Owns: Template (a parsed template, shared by threads), RenderOptions (clock and budgets), Rendered.
// Must not know: messages, models (chat.h), JSON (jinja_json.h).
// Invariants: no template and no context can crash, hang or take more memory than the budgets allow: what
// goes beyond them is an error. Templates reach nothing but the context: no files, no reflection. Source:
// Jinja 3.1, sandboxed environment with trim_blocks, lstrip_blocks, loop controls, `generation`, `tojson`
// without HTML escapes, `raise_exception` and `strftime_now`. Where that sandbox forbids list.append and its
// like, this engine allows them on what the template itself made.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/jinja_text.h"
#include "text/jinja_value.h"

namespace brass::jinja {

struct RenderOptions {
  uint64_t max_steps = 50'000'000;        // expressions, statements and items handled
  size_t max_memory = size_t{256} << 20;  // bytes of values alive at once
  size_t max_output = size_t{64} << 20;   // bytes of rendered text
  int max_recursion = 200;                // macro calls and recursive loops inside each other
  std::optional<int64_t> clock;  // seconds since 1970 in UTC for strftime_now; absent: the local time now
  // Where given, gets how many bytes of each numbered input stand in the text, first kFirstNumbered's.
  std::vector<size_t>* shown = nullptr;
};

struct Rendered {
  std::string text;
  std::vector<Segment> segments;  // cover the text in order, neighbours differ in trust
};

struct Tree;

class Template {
 public:
  // Errors name line and column.
  static Result<std::unique_ptr<Template>> parse(std::string_view source);
  ~Template();
  Template(const Template&) = delete;
  Template& operator=(const Template&) = delete;

  // `context` is a dict of the variables. Errors name line and column, or the template's own words
  // (raise_exception).
  Result<Rendered> render(const Value& context, const RenderOptions& options = {}) const;
  const std::string& source() const { return source_; }

 private:
  Template(std::string source, std::unique_ptr<Tree> tree);
  std::string source_;
  std::unique_ptr<Tree> tree_;
};

}  // namespace brass::jinja
