#include "backend/vulkan/candidates.h"

#include <algorithm>

#include "base/check.h"

namespace brass::vulkan {
namespace {

constexpr uint32_t kEach = 8;  // values of a thread, as candidates.comp has them
// Of a workgroup that is not alone. More counts in one workgroup wait for each other, fewer leave more to the next round.
constexpr uint32_t kThreadsOfPart = 512;

}  // namespace

std::vector<CandidateRound> candidate_rounds(uint32_t values, uint32_t wanted, uint32_t lanes) {
  const uint32_t most = std::min(1024u, 32 * lanes);  // threads, that every device has which is taken
  ENSURE(wanted > 0 && wanted <= std::min(values, kMostCandidates) && 2 * kMostCandidates < kEach * most,
         "{} of {} values by {} threads", wanted, values, most);
  std::vector<CandidateRound> rounds;
  for (;;) {
    const uint32_t threads = values <= kEach * most ? most : std::min(kThreadsOfPart, most);
    const uint32_t part = kEach * threads, parts = (values + part - 1) / part;
    const uint32_t left = (parts - 1) * wanted + std::min(wanted, values - (parts - 1) * part);
    rounds.push_back({values, threads, parts, left});
    if (parts == 1) return rounds;
    values = left;
  }
}

uint64_t candidate_bytes(const Plan& plan, uint32_t lanes) {
  constexpr uint64_t kPair = 8;
  if (plan.key.choose <= 1) return 0;
  const uint32_t values = plan.value(plan.source->logits).width;
  uint64_t bytes = 0;
  for (const CandidateRound& round : candidate_rounds(values, plan.value(plan.choice).width / 2, lanes))
    if (round.parts > 1) bytes += kPair * plan.key.r * round.left;
  return bytes;
}

}  // namespace brass::vulkan
