// Filters over a list of candidate tokens: which of them stay.
//
// Owns: the rules of top-k, typical, top-p, min-p and XTC.
// Must not know: the text so far, temperature, random numbers, the rest of the vocabulary.
// Invariants: candidates stand in ascending order of id before and after every filter, so what is drawn does
// not depend on the order in which a selection algorithm leaves its elements; at least one candidate stays;
// where two are equal the lower id is the better; no filter sorts more than it must or allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace brass {

struct Candidate {
  int32_t id;
  float logit;   // after bias and penalties, before temperature
  float weight;  // exp(logit - a common maximum); not normalized
};

// A candidate list and the scratch of its filters, each with room for a whole vocabulary.
class CandidateFilters {
 public:
  explicit CandidateFilters(int vocab_size);

  std::vector<Candidate>& list() { return list_; }
  const std::vector<Candidate>& list() const { return list_; }

  // The k highest logits; k >= 1.
  void top_k(size_t k);
  // The fewest tokens whose surprise is nearest to the expected one and that together have at least `mass` of
  // the probability (Meister et al. 2022, "Locally Typical Sampling").
  void typical(float mass);
  // The fewest most likely tokens that together have at least `mass` of the probability (Holtzman et al.
  // 2020, "The Curious Case of Neural Text Degeneration"). total: the weight of the whole, of which the list
  // may lack tokens that can not be among the fewest.
  void top_p(float mass, double total);
  // The tokens at least min_p times as likely as the likeliest (Nguyen et al. 2024, "Turning Up the Heat").
  void min_p(float min_p);
  // All but the least likely of the tokens with at least `threshold` of the probability are removed
  // (sampler_params.h).
  void xtc(float threshold);

  double total_weight() const;
  float highest_logit() const;

 private:
  struct Ranked {
    double score;  // higher is better
    int32_t id;    // lower is better where scores are equal
    float weight;
    bool better_than(const Ranked& other) const {
      return score != other.score ? score > other.score : id < other.id;
    }
  };
  template <class Score>
  void rank(Score score);
  Ranked end_of_mass(double mass);
  template <class Keep>
  void keep_if(Keep keep);

  std::vector<Candidate> list_;
  std::vector<Ranked> ranked_;
};

}  // namespace brass
