// The two-panel picture: how the wall clock of each workload is shared, and what a change would save.
//
// Owns: the picture's data, its SVG, its form in plain text. Must not know: where the seconds come from.
// Invariants: the SVG stands alone (no script, no fonts or links from outside), its text is text, it follows
// the reader's light or dark setting; whatever it is given is escaped.
#pragma once

#include <string>
#include <vector>

#include "report/phases.h"

namespace brass::report {

struct ShareBar {
  std::string label;  // "chat-turn 2k/2k"
  Phases phases;
  std::string mark;  // "measured", "composed", "*": printed behind the total
};

enum class SavedKind { kPrefill, kDecode, kCache };

struct SavedBar {
  std::string label;
  double seconds;
  SavedKind kind;
};

struct Figure {
  std::string title, shares_title, saved_title;
  std::vector<ShareBar> shares;
  std::vector<SavedBar> saved;
  std::vector<std::string> notes;
};

std::string figure_svg(const Figure& figure);
// `width`: columns; `colour`: ANSI colours for the two phases.
std::string figure_text(const Figure& figure, int width, bool colour);

std::string escape_markup(std::string_view text);  // & < > " for HTML and SVG

}  // namespace brass::report
