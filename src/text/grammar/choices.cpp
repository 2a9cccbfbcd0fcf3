#include "text/grammar/choices.h"

#include <algorithm>
#include <vector>

#include "text/tokenizer_utf8.h"

namespace brass::grammar {
namespace {

// The tree of the texts' beginnings, made from sorted distinct texts: a range of them shares `at` bytes.
class LiteralTree {
 public:
  LiteralTree(RegexArena& regexes, std::span<const std::string> sorted) : regexes_(regexes), texts_(sorted) {}

  // What follows the first `at` bytes. Recursion is as deep as the texts branch: kMaxChoiceBytes lets a thousand and
  // some texts each be the beginning of the next.
  RegexId below(size_t begin, size_t end, size_t at) {
    const size_t shared = shared_end(begin, end, at);
    const std::string& first = texts_[begin];
    std::vector<RegexId> branches;
    if (first.size() == shared) {
      branches.push_back(regexes_.empty());
      ++begin;
    }
    while (begin < end) {
      const size_t length = tokens::utf8_step(texts_[begin], shared).length;
      const std::string_view letter = std::string_view(texts_[begin]).substr(shared, length);
      size_t next = begin + 1;
      while (next < end && std::string_view(texts_[next]).substr(shared, length) == letter) ++next;
      branches.push_back(next == begin + 1 ? regexes_.literal(std::string_view(texts_[begin]).substr(shared))
                                           : below(begin, next, shared));
      begin = next;
    }
    const RegexId parts[] = {regexes_.literal(std::string_view(first).substr(at, shared - at)),
                             regexes_.any_of(branches)};
    return shared == at ? parts[1] : regexes_.concat(parts);
  }

 private:
  // Sorted texts share what the first and the last share, cut back to whole characters.
  size_t shared_end(size_t begin, size_t end, size_t at) const {
    const std::string &a = texts_[begin], &b = texts_[end - 1];
    const size_t limit = std::min(a.size(), b.size());
    while (at < limit) {
      const size_t length = tokens::utf8_step(a, at).length;
      if (std::string_view(a).substr(at, length) != std::string_view(b).substr(at, length)) break;
      at += length;
    }
    return at;
  }

  RegexArena& regexes_;
  std::span<const std::string> texts_;
};

}  // namespace

RegexId any_literal(RegexArena& regexes, std::span<const std::string> texts) {
  std::vector<std::string> sorted(texts.begin(), texts.end());
  std::ranges::sort(sorted);
  sorted.erase(std::ranges::unique(sorted).begin(), sorted.end());
  if (sorted.empty()) return regexes.nothing();
  return LiteralTree(regexes, sorted).below(0, sorted.size(), 0);
}

Result<std::shared_ptr<const Grammar>> grammar_from_choices(std::span<const std::string> choices) {
  if (choices.empty()) return wrong_use("choices: there are none");
  if (choices.size() > kMaxChoices)
    return wrong_use("choices: {} of them, and at most {} are taken", choices.size(), kMaxChoices);
  size_t bytes = 0;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (choices[i].empty()) return wrong_use("choices[{}]: an empty text", i);
    if (tokens::valid_utf8_end(choices[i], 0) != choices[i].size())
      return wrong_use("choices[{}]: not UTF-8", i);
    bytes += choices[i].size();
    if (bytes > kMaxChoiceBytes)
      return wrong_use("choices[{}]: more than {} bytes together", i, kMaxChoiceBytes);
  }
  auto grammar = std::make_shared<Grammar>();
  TRY_VOID(grammar->freeze(grammar->terminal(any_literal(grammar->regexes(), choices))));
  return grammar;
}

Result<std::shared_ptr<const Grammar>> grammar_from_regex(std::string_view pattern) {
  auto grammar = std::make_shared<Grammar>();
  const auto read = [&]() -> Result<> {
    return grammar->freeze(grammar->terminal(TRY(grammar->regexes().parse(pattern, RegexSyntax::kFull))));
  };
  if (Result<> done = read(); !done) {
    Error error = std::move(done.error()).within("regular expression");
    error.wrong_use = true;
    return std::unexpected(std::move(error));
  }
  return grammar;
}

}  // namespace brass::grammar
