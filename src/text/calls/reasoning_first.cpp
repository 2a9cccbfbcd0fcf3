#include "text/calls/reasoning_first.h"

namespace brass::calls {

grammar::ConstraintOptions reasoning_first(const ReplyForm& form, std::string_view prompt, Constrained what) {
  grammar::ConstraintOptions out;
  if (form.format.channels == Channels::kHarmony) {
    out.in_reasoning = what == Constrained::kContent;  // whatever comes before the last channel
    out.reasoning_begin = out.in_reasoning ? "" : "<|channel|>analysis<|message|>";
    out.reasoning_end = out.in_reasoning ? "<|channel|>final<|message|>" : "<|end|>";
    return out;
  }
  const Fence& fence = form.format.reasoning;
  if (fence.end.empty()) return out;
  out.in_reasoning = ends_in_reasoning(fence, prompt);
  const bool closed = trimmed(prompt).ends_with(fence.end);
  if (!out.in_reasoning && !closed) out.reasoning_begin = fence.begin;
  if (!out.in_reasoning && out.reasoning_begin.empty()) return out;
  out.reasoning_end = fence.end;
  if (what == Constrained::kContent) out.gap = "\n\n";
  return out;
}

}  // namespace brass::calls
