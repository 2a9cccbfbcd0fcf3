#include "app/bench_prose.h"

#include <fmt/format.h>

#include <array>
#include <numeric>

#include "base/rng.h"

namespace brass::app {
namespace {

// Written for this file; take it and do with it what you like.
constexpr std::array kParagraphs = {
    "The ferry left at six, when the fog still lay on the harbour and the gulls walked about on the stones "
    "like "
    "people who have missed a train. Martha stood at the rail with her collar up. She counted the posts as "
    "they "
    "passed, nineteen on the left and seventeen on the right, and wondered, as she did every morning, who "
    "had "
    "taken the other two.",
    "A loom is a simple idea made complicated by wood. Threads run along, threads run across, and somewhere "
    "between them a pattern appears that neither of them contains. The old weavers kept their patterns on "
    "strips "
    "of paper, numbers in three columns, and when a strip was lost the pattern was lost with it, unless "
    "somebody "
    "still owned the cloth and had the patience to count.",
    "In the third week of June the river fell so low that the foundations of the earlier bridge came out: "
    "eleven "
    "blocks of grey stone in a curve, the fourth one split. Children jumped from one to the next. The "
    "council sent "
    "a man with a measuring rod, who wrote down 4.2 metres, 3.9 metres, 4.1 metres, and then sat in the "
    "shade and "
    "ate his bread, because nobody had told him what the figures were for.",
    "\"You cannot weigh a swarm,\" said the beekeeper, \"but you can weigh the box before and the box "
    "after.\" He "
    "put the box on the scale, took it off, and put it on again. Both times it said twelve and a half. "
    "\"There,\" "
    "he said. \"Now you know more about these bees than they do.\" The visitors laughed, all but one, who "
    "asked "
    "how heavy the box had been before.",
    "Bread needs four things and forgives a mistake in three of them. With too little water it is hard, with "
    "too "
    "much it spreads; salt can be forgotten once, and never twice. What it doesn't forgive is hurry. The "
    "dough that "
    "stood overnight in a cold kitchen rises in the oven as if it had been waiting for nothing else, and the "
    "one "
    "that stood by the fire for an hour tastes of the fire and of the hour.",
    "The report had forty pages and one sentence that mattered. It stood on page thirty-one, between a table "
    "of "
    "rainfall and a drawing of a gate: if the upper lock is opened first, the lower one need not be opened "
    "at all. "
    "For sixty years two men had opened both, at seven in the morning and at four in the afternoon, in all "
    "weather, "
    "and had been proud of how evenly they did it.",
    "Seen from the ridge, the valley is a set of answers to one question, which is where the water goes. The "
    "road "
    "keeps above it, the mill sits in it, the church stands where it has never been, and the newer houses, "
    "built "
    "by people who did not ask, are dried out every second spring with pumps that the mill lends them.",
    "She taught arithmetic with apples for the small ones and with money for the others, and found that the "
    "same "
    "child who could not take seven from twelve could tell at once what was left of twelve pence when a bun "
    "cost "
    "seven. It was not the numbers, she decided, it was whether anybody would be hungry afterwards.",
    "On winter evenings the clockmaker repaired what was brought and, when nothing was brought, took apart "
    "what was "
    "in the shop. He knew each of the clocks by its fault. One gained a minute in frost, one stopped when "
    "the door "
    "was slammed, and one, the most expensive, kept perfect time and struck the wrong hour, so that he could "
    "never "
    "decide whether to call it right or wrong."};

}  // namespace

std::string bench_prose(size_t bytes) {
  std::string text;
  std::array<size_t, kParagraphs.size()> order{};
  Rng rng(6);
  for (int part = 1; text.size() < bytes; part++) {
    std::iota(order.begin(), order.end(), size_t{0});
    for (size_t i = order.size() - 1; i > 0; i--) std::swap(order[i], order[rng.below(i + 1)]);
    text += fmt::format("Part {}\n\n", part);
    for (const size_t i : order) text += std::string(kParagraphs[i]) + "\n\n";
  }
  return text;
}

}  // namespace brass::app
