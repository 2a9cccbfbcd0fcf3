#include "text/stop_strings.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace brass {
namespace {

struct Outcome {
  std::string shown;
  std::optional<size_t> matched;
  bool operator==(const Outcome&) const = default;
};

// The whole text at once, by trying every end and every stop.
Outcome naive(const std::vector<std::string>& stops, const std::string& text) {
  for (size_t end = 1; end <= text.size(); ++end) {
    std::optional<size_t> best;
    for (size_t i = 0; i < stops.size(); ++i) {
      const bool here =
          end >= stops[i].size() && text.compare(end - stops[i].size(), stops[i].size(), stops[i]) == 0;
      if (here && (!best || stops[i].size() > stops[*best].size())) best = i;
    }
    if (best) return {text.substr(0, end - stops[*best].size()), best};
  }
  return {text, {}};
}

// What may be shown of an unfinished text: all but the longest end that a stop string begins with.
std::string naive_safe(const std::vector<std::string>& stops, const std::string& text) {
  const Outcome whole = naive(stops, text);
  if (whole.matched) return whole.shown;
  for (size_t from = 0; from < text.size(); ++from) {
    for (const std::string& stop : stops) {
      if (stop.compare(0, text.size() - from, text, from) == 0) return text.substr(0, from);
    }
  }
  return text;
}

// `cuts`: bit i set means that the text is cut after byte i.
void expect_same(StopFilter& filter, const std::vector<std::string>& stops, const std::string& text,
                 uint64_t cuts) {
  filter.reset();
  std::string shown, piece;
  for (size_t i = 0; i < text.size(); ++i) {
    piece += text[i];
    if (i + 1 < text.size() && (cuts >> i & 1) == 0) continue;
    shown += filter.push(piece);
    piece.clear();
    ASSERT_EQ(shown, naive_safe(stops, text.substr(0, i + 1))) << text << " cut " << cuts;
  }
  shown += filter.flush();
  ASSERT_EQ((Outcome{shown, filter.matched()}), naive(stops, text)) << text << " cut " << cuts;
}

TEST(StopFilter, EverySplitGivesWhatTheWholeGives) {
  Rng rng(11);
  for (int round = 0; round < 400; ++round) {
    std::vector<std::string> stops(rng.below(4));
    for (std::string& stop : stops) {
      for (size_t n = 1 + rng.below(5); n > 0; --n) stop += static_cast<char>('a' + rng.below(2));
    }
    std::string text;
    for (size_t n = rng.below(10); n > 0; --n) text += static_cast<char>('a' + rng.below(2 + round % 2));
    StopFilter filter(stops);
    const uint64_t all = text.empty() ? 1 : uint64_t{1} << (text.size() - 1);
    for (uint64_t cuts = 0; cuts < all; ++cuts) expect_same(filter, stops, text, cuts);
  }
}

TEST(StopFilter, LongRandomStreams) {
  Rng rng(12);
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::string> stops(1 + rng.below(5));
    for (std::string& stop : stops) {
      for (size_t n = 1 + rng.below(9); n > 0; --n) stop += static_cast<char>(rng.below(3) * 127);
    }
    std::string text;
    for (size_t n = rng.below(60); n > 0; --n) text += static_cast<char>(rng.below(3) * 127);
    StopFilter filter(stops);
    expect_same(filter, stops, text, rng.next());
  }
}

TEST(StopFilter, HoldsBackAndReleases) {
  StopFilter filter({"</s>"});
  EXPECT_EQ(filter.push("one </"), "one ");
  EXPECT_EQ(filter.push("s"), "");
  EXPECT_EQ(filter.push("pan>"), "</span>");
  EXPECT_EQ(filter.push("two<"), "two");
  EXPECT_EQ(filter.flush(), "<");
  EXPECT_EQ(filter.flush(), "") << "flushed text does not come twice";
  EXPECT_FALSE(filter.matched());
}

TEST(StopFilter, NothingComesAfterAMatch) {
  StopFilter filter({"END", "\n\n"});
  EXPECT_EQ(filter.push("text\n\nmore"), "text");
  EXPECT_EQ(filter.matched(), 1u);
  EXPECT_EQ(filter.push("even more"), "");
  EXPECT_EQ(filter.flush(), "");
  filter.reset();
  EXPECT_EQ(filter.push("more"), "more");
  EXPECT_FALSE(filter.matched());
}

TEST(StopFilter, TheStopThatIsCompleteFirstCounts) {
  StopFilter filter({"abcde", "bcd", "d"});
  EXPECT_EQ(filter.push("abc"), "");
  EXPECT_EQ(filter.push("de"), "a");  // "bcd" and "d" end at the same byte, before "abcde"
  EXPECT_EQ(filter.matched(), 1u);
}

TEST(StopFilter, WithoutStopsTextPassesThrough) {
  StopFilter filter({});
  EXPECT_EQ(filter.push("abc"), "abc");
  EXPECT_EQ(filter.push(""), "");
  EXPECT_EQ(filter.flush(), "");
}

TEST(StopFilter, ValidationRefusesWhatCanNotBeServed) {
  EXPECT_TRUE(validate_stops({"a", "b"}));
  EXPECT_TRUE(validate_stops({}));
  const auto empty = validate_stops({"a", ""});
  ASSERT_FALSE(empty);
  EXPECT_NE(empty.error().message.find("stop string 1"), std::string::npos);
  EXPECT_FALSE(validate_stops({std::string(kMaxStopBytes + 1, 'x')}));
  const auto many = validate_stops(std::vector<std::string>(1000000, "x"));
  ASSERT_FALSE(many);
  EXPECT_TRUE(many.error().wrong_use);
  EXPECT_EQ(many.error().message.rfind("stop:", 0), 0u);
}

// A border table that is quadratic, or a search that restarts at every byte, would take minutes.
TEST(StopFilter, WorkIsLinearOnRepetitiveText) {
  std::vector<std::string> stops(kMaxStops, std::string(kMaxStopBytes - 1, 'a') + "b");
  StopFilter filter(stops);
  const std::string text(1 << 18, 'a');
  size_t shown = 0;
  for (size_t i = 0; i < text.size(); i += 64)
    shown += filter.push(std::string_view(text).substr(i, 64)).size();
  EXPECT_EQ(shown, text.size() - (kMaxStopBytes - 1));
  EXPECT_EQ(filter.flush().size(), kMaxStopBytes - 1);
}

}  // namespace
}  // namespace brass
