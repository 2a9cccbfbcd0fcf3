#include "text/grammar/char_class.h"

#include "text/grammar/char_groups.h"

namespace brass::grammar {

const CodePoints& group_points(CharGroup group) {
  static const CodePoints kLines = {{0x2028, 0x2029}};
  static const CodePoints kOtherSpaces =
      intersection(intersection(space_points(), complement(kLines)), {{0x80, kLastPoint}});
  static const CodePoints kAllLetters = intersection(*property_points("L"), {{0x80, kLastPoint}});
  static const CodePoints kOthers = [] {
    CodePoints taken = {{0, 0x7F}};
    for (const CodePoints* points : {&kLines, &kOtherSpaces, &kAllLetters})
      taken.insert(taken.end(), points->begin(), points->end());
    return complement(normalized(std::move(taken)));
  }();
  switch (group) {
    case kLineEnds:
      return kLines;
    case kSpaces:
      return kOtherSpaces;
    case kLetters:
      return kAllLetters;
    default:
      return kOthers;
  }
}

CharGroup group_of(char32_t point) {
  for (const CharGroup group : {kLetters, kLineEnds, kSpaces}) {
    if (contains(group_points(group), point)) return group;
  }
  return kRest;
}

}  // namespace brass::grammar
