// From a pattern with assertions to a language without.
//
// Works from the back: `rest` is the language of what follows, up to the end of the text, for each thing that may stand
// before: then an assertion is an intersection with the rest, and look-ahead and \b need nothing else.
#include <algorithm>
#include <array>

#include "text/grammar/regex_ast.h"

namespace brass::grammar {

namespace {

using Kind = PatternNode::Kind;

constexpr int kMostCopies = 64;  // of a repeated part that holds an assertion

enum Before { kAtStart, kAfterOther, kAfterWord };
using Rest = std::array<RegexId, 3>;  // by Before

class Translator {
 public:
  explicit Translator(RegexArena::Impl& arena) : arena_(arena) {
    word_ = arena_.set(word_points());
    other_ = arena_.set(complement(word_points()));
  }

  Result<RegexId> translate(const PatternNode& root, RegexSyntax syntax) {
    const RegexId after = syntax == RegexSyntax::kFull ? arena_.empty : arena_.everything;
    const Rest found = TRY(before(root, {after, after, after}));
    if (arena_.exhausted) return wrong_use("pattern: it is too large");
    if (syntax == RegexSyntax::kFull) return found[kAtStart];
    const RegexId all = arena_.everything;
    if (found[0] == found[1] && found[1] == found[2]) return arena_.concat(all, found[0]);
    const RegexId after_other = arena_.concat(all, arena_.concat(other_, found[kAfterOther]));
    const RegexId after_word = arena_.concat(all, arena_.concat(word_, found[kAfterWord]));
    if (found[1] == found[2]) {
      return arena_.any_of(
          {found[kAtStart], arena_.concat(arena_.repeat(arena_.any_point, 1, -1), found[1])});
    }
    return arena_.any_of({found[kAtStart], after_other, after_word});
  }

 private:
  // The language of the text from `node` on.
  Result<Rest> before(const PatternNode& node, const Rest& rest) {
    const bool same = rest[0] == rest[1] && rest[1] == rest[2];
    if (!node.asserts && same) {
      const RegexId out = arena_.concat(plain(node), rest[0]);
      return Rest{out, out, out};
    }
    switch (node.kind) {
      case Kind::kEmpty:
        return rest;
      case Kind::kSet:
        return before_language(arena_.set(node.points), rest);
      case Kind::kConcat: {
        Rest out = rest;
        for (size_t i = node.parts.size(); i-- > 0;) out = TRY(before(node.parts[i], out));
        return out;
      }
      case Kind::kOr: {
        std::array<std::vector<RegexId>, 3> ways;
        for (const PatternNode& part : node.parts) {
          const Rest way = TRY(before(part, rest));
          for (size_t i = 0; i < 3; ++i) ways[i].push_back(way[i]);
        }
        return Rest{arena_.any_of(ways[0]), arena_.any_of(ways[1]), arena_.any_of(ways[2])};
      }
      case Kind::kRepeat:
        return before_repeat(node, rest);
      case Kind::kStart:
        return Rest{rest[kAtStart], arena_.nothing, arena_.nothing};
      case Kind::kEnd:
        return both(rest, {arena_.empty, arena_.empty, arena_.empty});
      case Kind::kBoundary:
      case Kind::kInside: {
        const RegexId starts_word = arena_.concat(word_, arena_.everything);
        const RegexId starts_other = arena_.any_of({arena_.empty, arena_.concat(other_, arena_.everything)});
        const bool boundary = node.kind == Kind::kBoundary;
        const RegexId unlike_other = boundary ? starts_word : starts_other;
        return both(rest, {unlike_other, unlike_other, boundary ? starts_other : starts_word});
      }
      case Kind::kAhead:
      case Kind::kNotAhead: {
        const RegexId all = arena_.everything;
        Rest ahead = TRY(before(node.parts[0], {all, all, all}));
        if (node.kind == Kind::kNotAhead) {
          for (RegexId& language : ahead) language = arena_.negate(language);
        }
        return both(rest, ahead);
      }
    }
    return rest;
  }

  Rest both(const Rest& a, const Rest& b) {
    return {arena_.all_of({a[0], b[0]}), arena_.all_of({a[1], b[1]}), arena_.all_of({a[2], b[2]})};
  }

  // `language` in front of a rest that depends on its last character.
  Rest before_language(RegexId language, const Rest& rest) {
    const RegexId all = arena_.everything;
    const bool is_set = arena_.at(language).kind == RegexKind::kSet;
    const RegexId end_other = is_set ? other_ : arena_.concat(all, other_);
    const RegexId end_word = is_set ? word_ : arena_.concat(all, word_);
    const RegexId through =
        arena_.any_of({arena_.concat(arena_.all_of({language, end_other}), rest[kAfterOther]),
                       arena_.concat(arena_.all_of({language, end_word}), rest[kAfterWord])});
    if (!arena_.at(language).nullable) return {through, through, through};
    return {arena_.any_of({through, rest[0]}), arena_.any_of({through, rest[1]}),
            arena_.any_of({through, rest[2]})};
  }

  Result<Rest> before_repeat(const PatternNode& node, const Rest& rest) {
    if (!node.asserts) return before_language(plain(node), rest);
    if (node.max < 0 || node.max > kMostCopies) {
      return wrong_use(
          "pattern, at byte {}: an assertion inside a repetition of more than {} is not supported",
          node.place, kMostCopies);
    }
    Rest out = rest;
    for (int i = node.max; i-- > 0;) {
      out = TRY(before(node.parts[0], out));
      if (i < node.min) continue;  // this one must be there
      for (size_t b = 0; b < 3; ++b) out[b] = arena_.any_of({out[b], rest[b]});
    }
    return out;
  }

  // The language of a part without assertions.
  RegexId plain(const PatternNode& node) {
    switch (node.kind) {
      case Kind::kSet:
        return arena_.set(node.points);
      case Kind::kConcat: {
        RegexId out = arena_.empty;
        for (size_t i = node.parts.size(); i-- > 0;) out = arena_.concat(plain(node.parts[i]), out);
        return out;
      }
      case Kind::kOr: {
        std::vector<RegexId> ways;
        for (const PatternNode& part : node.parts) ways.push_back(plain(part));
        return arena_.any_of(std::move(ways));
      }
      case Kind::kRepeat:
        return arena_.repeat(plain(node.parts[0]), node.min, node.max);
      default:
        return arena_.empty;
    }
  }

  RegexArena::Impl& arena_;
  RegexId word_, other_;
};

}  // namespace

Result<RegexId> translate_pattern(RegexArena::Impl& arena, const PatternNode& root, RegexSyntax syntax) {
  return Translator(arena).translate(root, syntax);
}

}  // namespace brass::grammar
