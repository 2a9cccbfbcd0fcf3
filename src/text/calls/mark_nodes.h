// Marks of a format as parts of a grammar.
//
// Owns: MarkNodes: blanks between marks, marks with blanks and any words in them, control pieces. Must not know: calls.
// Invariants: what a node takes, Fit (marks.h) finds to be the mark; a control piece is taken as one token, and as text
// only in a mark that begins something.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/grammar/grammar.h"

namespace brass::calls {

class MarkNodes {
 public:
  MarkNodes(grammar::Grammar& grammar, const std::vector<std::string>& controls);

  grammar::NodeId gap() const { return gap_; }  // blanks that a model may write between two parts; or none
  // A mark. A blank behind a tag in it is a gap. `word`: what stands for kAnyWord (-1: a number).
  grammar::NodeId mark(std::string_view text, grammar::NodeId word = -1);
  // A mark that is found as it is.
  grammar::NodeId beginning(std::string_view text);
  // Adds a gap and the mark, where there is one.
  void add(std::vector<grammar::NodeId>& parts, std::string_view text);

  // Texts that `mark` does not end or begin inside of: it, and nothing of it at the end, stands nowhere.
  grammar::RegexId texts_without(std::string_view mark);
  // Whatever Fit takes for the mark, with any name in it.
  grammar::RegexId pattern(std::string_view mark);

 private:
  grammar::NodeId written(std::string_view text, bool begins);

  grammar::Grammar& grammar_;
  const std::vector<std::string>& controls_;
  grammar::NodeId gap_, word_;
};

}  // namespace brass::calls
