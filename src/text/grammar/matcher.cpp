#include "text/grammar/matcher.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <unordered_set>
#include <vector>

#include "base/check.h"
#include "text/grammar/mask.h"

namespace brass::grammar {

namespace {

constexpr size_t kMostBytes = size_t{48} << 20;  // of what is learned about one grammar

}  // namespace

class CompiledGrammar {
 public:
  CompiledGrammar(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTrie> trie)
      : grammar_(std::move(grammar)), trie_(std::move(trie)), walk_(grammar_->impl()) {
    if (trie_) masks_.emplace(trie_->impl(), walk_);
  }
  // Regular expressions are the grammar's, so its lock is the one to hold.
  std::mutex& mutex() { return grammar_->impl().mutex; }
  Walk& walk() { return walk_; }
  const TokenTrie::Impl* trie() const { return trie_ ? &trie_->impl() : nullptr; }
  Masks& masks() { return *masks_; }

  // Where the matchers stand, to be moved along when memory is given back.
  void add(SetId* place) { places_.insert(place); }
  void remove(SetId* place) { places_.erase(place); }
  void bound_memory() {
    if (walk_.bytes() < kMostBytes) return;
    const std::vector<SetId*> places(places_.begin(), places_.end());
    walk_.collect(places);
    if (masks_) masks_->forget();
  }

 private:
  std::shared_ptr<const Grammar> grammar_;
  std::shared_ptr<const TokenTrie> trie_;
  Walk walk_;
  std::optional<Masks> masks_;
  std::unordered_set<SetId*> places_;
};

std::shared_ptr<CompiledGrammar> compile(std::shared_ptr<const Grammar> grammar,
                                         std::shared_ptr<const TokenTrie> trie) {
  ENSURE(grammar && grammar->impl().frozen, "the grammar is not frozen");
  const std::scoped_lock lock(grammar->impl().mutex);
  return std::make_shared<CompiledGrammar>(grammar, std::move(trie));
}

struct Matcher::State {
  std::shared_ptr<CompiledGrammar> grammar;
  SetId set = kDead;

  explicit State(std::shared_ptr<CompiledGrammar> from) : grammar(std::move(from)) {
    const std::scoped_lock lock(grammar->mutex());
    set = grammar->walk().start();
    grammar->add(&set);
  }
  State(const State& other) : grammar(other.grammar) {
    const std::scoped_lock lock(grammar->mutex());
    set = other.set;
    grammar->add(&set);
  }
  State& operator=(const State&) = delete;
  ~State() {
    const std::scoped_lock lock(grammar->mutex());
    grammar->remove(&set);
  }
};

Matcher::Matcher(std::shared_ptr<CompiledGrammar> grammar)
    : state_(std::make_unique<State>(std::move(grammar))) {}
Matcher::Matcher(const Matcher& other) : state_(std::make_unique<State>(*other.state_)) {}
Matcher::Matcher(Matcher&&) noexcept = default;
Matcher& Matcher::operator=(const Matcher& other) {
  if (this != &other) state_ = std::make_unique<State>(*other.state_);
  return *this;
}
Matcher& Matcher::operator=(Matcher&&) noexcept = default;
Matcher::~Matcher() = default;

bool Matcher::accept_bytes(std::string_view bytes) {
  const std::scoped_lock lock(state_->grammar->mutex());
  SetId set = state_->set;
  for (const char byte : bytes) set = state_->grammar->walk().step(set, static_cast<uint8_t>(byte));
  if (set != kDead) state_->set = set;
  state_->grammar->bound_memory();
  return set != kDead;
}

bool Matcher::accept_token(int32_t id) {
  const TokenTrie::Impl* trie = state_->grammar->trie();
  ENSURE(trie != nullptr, "accept_token() without a vocabulary");
  if (std::ranges::find(trie->end_ids, id) != trie->end_ids.end()) return can_end();
  if (id < 0 || id >= trie->size) return false;
  const std::string_view piece = trie->pieces[static_cast<size_t>(id)];
  return !piece.empty() && accept_bytes(piece);
}

bool Matcher::can_end() const {
  const std::scoped_lock lock(state_->grammar->mutex());
  return state_->grammar->walk().can_end(state_->set);
}

bool Matcher::must_end() const {
  const std::scoped_lock lock(state_->grammar->mutex());
  return state_->grammar->walk().must_end(state_->set);
}

bool Matcher::limited() const {
  const std::scoped_lock lock(state_->grammar->mutex());
  return state_->grammar->walk().limited();
}

void Matcher::mask(std::span<uint64_t> bits) {
  const std::scoped_lock lock(state_->grammar->mutex());
  ENSURE(state_->grammar->trie() != nullptr, "mask() without a vocabulary");
  const auto words = (static_cast<size_t>(state_->grammar->trie()->size) + 63) / 64;
  ENSURE(bits.size() == words, "{} words for a mask of {}", bits.size(), words);
  state_->grammar->masks().fill(state_->set, bits);
  state_->grammar->bound_memory();
}

std::string Matcher::forced(size_t limit) const {
  const std::scoped_lock lock(state_->grammar->mutex());
  Walk& walk = state_->grammar->walk();
  std::string out;
  for (SetId set = state_->set; out.size() < limit && !walk.can_end(set);) {
    int only = -1;
    for (int byte = 0; byte < 256; ++byte) {
      if (walk.step(set, static_cast<uint8_t>(byte)) == kDead) continue;
      if (only >= 0) return out;
      only = byte;
    }
    if (only < 0) break;
    out.push_back(static_cast<char>(only));
    set = walk.step(set, static_cast<uint8_t>(only));
  }
  return out;
}

}  // namespace brass::grammar
