// Random texts of a grammar, byte by byte.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/rng.h"
#include "text/grammar/walk.h"

namespace brass::grammar {

class RandomWalk {
 public:
  explicit RandomWalk(const Grammar& grammar) : walk_(grammar.impl()) {}

  // Up to `steps` bytes at random, then a short way to an end. Nothing: no end was found in reach.
  std::optional<std::string> text(Rng& rng, int steps) {
    std::string out;
    SetId set = walk_.start();
    for (int i = 0; i < steps; i++) {
      if (walk_.can_end(set) && (walk_.must_end(set) || rng.below(4) == 0)) return out;
      const std::vector<uint8_t> next = choices(set, rng.below(4));
      if (next.empty()) return std::nullopt;
      const uint8_t byte = next[rng.below(next.size())];
      out += static_cast<char>(byte);
      set = walk_.step(set, byte);
    }
    return finished(std::move(out), set);
  }

 private:
  // The bytes that may come: all, the printable among them, or those that end something, where there are any.
  std::vector<uint8_t> choices(SetId set, uint64_t kind) {
    std::vector<uint8_t> all, printable, ends;
    for (int byte = 0; byte < 256; byte++) {
      if (walk_.step(set, static_cast<uint8_t>(byte)) == kDead) continue;
      all.push_back(static_cast<uint8_t>(byte));
      if (byte == '\n' || (byte >= ' ' && byte < 0x7F)) printable.push_back(all.back());
      if (std::string_view("\"}])<|>`").find(static_cast<char>(byte)) != std::string_view::npos)
        ends.push_back(all.back());
    }
    if (kind == 0 && !ends.empty()) return ends;
    return kind == 1 || printable.empty() ? all : printable;
  }

  // From here on always to where least is open, and not in circles: keys that only differ are the same place.
  std::optional<std::string> finished(std::string text, SetId set) {
    constexpr int kMostBytes = 3000;
    std::unordered_map<SetId, int> visits;
    for (int i = 0; i < kMostBytes; i++) {
      if (walk_.can_end(set)) return text;
      visits[walk_.nameless(set)]++;
      std::optional<std::tuple<int, int, uint8_t>> best;
      for (const uint8_t byte : choices(set, 2)) {
        const SetId next = walk_.step(set, byte);
        const auto seen = visits.find(walk_.nameless(next));
        const std::tuple<int, int, uint8_t> way = {seen == visits.end() ? 0 : seen->second, depth(next),
                                                   byte};
        if (!best || way < *best) best = way;
      }
      if (!best) return std::nullopt;
      text += static_cast<char>(std::get<2>(*best));
      set = walk_.step(set, std::get<2>(*best));
    }
    return std::nullopt;
  }

  // Of the shallowest stack.
  int depth(SetId set) {
    if (const auto found = depths_.find(set); found != depths_.end()) return found->second;
    int least = set == kDead ? 0 : INT32_MAX;
    for (const Item& item : walk_.items(set)) {
      const int below = item.kind == FrameKind::kEnd ? 0 : depth(item.below) + 1;
      least = std::min(least, below);
    }
    return depths_[set] = least;
  }

  Walk walk_;
  std::unordered_map<SetId, int> depths_;
};

}  // namespace brass::grammar
