// The pushdown automaton of a grammar, made as it is walked.
//
// Owns: sets of stacks, shared and numbered, and where a byte leads from each. Must not know: tokens. Invariants: a
// set is sorted by frame and holds each frame once, with one set of parents: two stacks with the same top are one, so a
// grammar with many parses has as few sets as it has places. A set on top is closed: each of its frames is about to
// read a byte (or is the end of the text). Every frame can reach its end whatever lies below, so a set that is not
// empty can be continued to a text of the grammar. Budgets (items of a set, depth, memory of a regular expression) only
// ever refuse: what passes one of them is not accepted.
//
// Like the stacks of Tomita (Generalized LR parsing, 1991), but immutable.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "text/grammar/char_class.h"
#include "text/grammar/grammar_impl.h"
#include "text/grammar/spelling.h"

namespace brass::grammar {

using SetId = int32_t;
constexpr SetId kDead = 0;

enum class FrameKind : uint8_t {
  kEnd,       // the text is complete
  kText,      // node; x: bytes read
  kTerminal,  // node: its Spelling; x: state of its regular expression; y: state of its spelling
  kKey,       // inside the quotes of a named key. node; x: seen; y: node of the key tree; z: spelling
  kTracked,   // inside the quotes of a pattern's key that is remembered. node; x: seen; y: which
  kObject,    // between the tokens of an object. node; x: seen; y: ObjectPhase; z: member
  kSequence,  // below: node; x: the part that comes next
  kRepeat,    // below: node; x: turns begun; y: 1 while in the separator
  kAnyOrder,  // below: node; x: what was there; y: 1 while in the separator
  kPartKey,   // inside the key of a part that comes again. node; x: what was there; y: which
};

enum ObjectPhase : uint32_t {
  kOpen,          // before '{'
  kFirst,         // a key or '}'
  kFurther,       // ',' or '}'
  kKeyOnly,       // a key
  kPatternQuote,  // the quote after a pattern's key; z: the pattern
  kColon,         // ':', then the value z
  kValue,         // the value z
  kAfterValue,
};

struct Item {
  FrameKind kind = FrameKind::kEnd;
  int32_t node = -1;
  uint32_t x = 0, y = 0, z = 0;
  SetId below = kDead;

  bool same_frame(const Item& other) const {
    return kind == other.kind && node == other.node && x == other.x && y == other.y && z == other.z;
  }
};

class Walk {
 public:
  explicit Walk(const Grammar::Impl& grammar);

  SetId start() const { return start_; }
  SetId step(SetId set, uint8_t byte) {
    const int32_t* next = sets_[static_cast<size_t>(set)].next.get();
    return next != nullptr && next[byte] >= 0 ? next[byte] : make_step(set, byte);
  }
  // As `set` for every text of up to `length` bytes, but the same for many sets: counts that so short a text cannot
  // exhaust are gone.
  SetId relaxed(SetId set, int length);
  // As `set` for every text that does not hold the end of a key and another key behind it, but the same for many sets:
  // what the key that is being read began with is forgotten. It only matters to keys that come later.
  SetId nameless(SetId set);
  bool reads_part_key(SetId set) const;
  // Characters of which the walk can read so many without coming to an end.
  struct Loop {
    CharClass chars;  // empty at most places
    int32_t most = 0;
    bool exact = false;   // any number, and the walk is still at `set` then
    bool closed = false;  // more than `most` of them end it
  };
  const Loop& loop(SetId set);
  bool can_end(SetId set) const;
  bool must_end(SetId set) const;
  bool limited() const { return limited_; }  // a budget was passed: what is refused may be in the language
  std::span<const Item> items(SetId set) const {
    const Set& s = sets_[static_cast<size_t>(set)];
    return std::span(pool_).subspan(s.begin, s.count);
  }
  RegexArena& regexes() { return grammar_.regexes; }
  size_t bytes() const;  // memory in use, roughly
  // Forgets all sets that neither the start nor `roots` need; gives these their new numbers.
  void collect(std::span<SetId* const> roots);

 private:
  using Items = std::vector<Item>;
  struct Set {
    size_t begin = 0;
    uint32_t count = 0;
    int32_t depth = 0;
    SetId after = -1;  // what is open once the top frames are done; -1: not asked yet
    int32_t loop = -1;
    std::unique_ptr<int32_t[]> next;
  };
  using Bytes = std::array<uint64_t, 4>;
  // What an object holds so far, and what it may still take.
  struct Seen {
    int object = 0;
    int count = 0;               // of members; no more than matters
    std::vector<uint64_t> used;  // by place in the sorted list: seen, or passed over for good
    std::vector<std::pair<int, std::u32string>> keys;  // tracked: pattern, key
    std::vector<uint64_t> allowed;                     // by place in the sorted list
    bool closes = false, any_named = false, any_pattern = false;
  };
  // Which parts of an AnyOrder were there; which may come.
  struct Taken {
    int order = 0;
    int count = 0;                    // of parts; no more than matters
    std::vector<bool> used, allowed;  // by part
    std::vector<std::pair<int, int>>
        keys;  // of parts that come again, while they matter: part, number of the text
    bool closes = false, any = false;  // it may end here; a part may come
  };
  struct Tracked {
    int pattern = 0;  // or part
    RegexId regex = -1;
    uint32_t spelling = 0;
    std::u32string key;    // so far, or kNameless
    bool forgets = false;  // a part's: it becomes kNameless once no key that was there begins so
  };
  static constexpr char32_t kNoCharacter[] = {0x110000};
  static constexpr std::u32string_view kNameless = {kNoCharacter, 1};

  Bytes first_bytes(const Item& item);  // and perhaps others
  void open_table(SetId set);
  Loop terminal_loop(const Item& item);
  Loop item_loop(const Item& item);
  CharClass raw_class(const Item& item, std::span<const RegexArena::Edge> edges);
  bool meets(const Item& item, const CharClass& chars);
  void spread(SetId set, uint8_t byte, SetId target);
  Loop find_loop(SetId set);
  SetId make_step(SetId set, uint8_t byte);
  SetId intern(Items& items);
  void index_sets();
  SetId single(const Item& item);
  SetId unite(SetId a, SetId b);
  SetId after(SetId set);
  void append(SetId set, Items& out);
  void enter(NodeId id, SetId below, Items& out);
  void enter_parts(const Node& node, NodeId id, size_t from, SetId below, Items& out);
  void begin_turn(const Node& node, NodeId id, uint32_t turn, SetId below, Items& out);
  void after_turn(const Node& node, NodeId id, uint32_t turn, SetId below, Items& out);
  void enter_separator(const Node& node, NodeId id, uint32_t turn, SetId below, Items& out);
  void leave(const Item& item, Items& out);  // what is below a frame that is done
  void step_item(const Item& item, uint8_t byte, Items& out);
  void step_terminal(const Item& item, uint8_t byte, Items& out);

  // walk_object.cpp
  const ObjectData& object_of(const Item& item) const;
  void step_object(const Item& item, uint8_t byte, Items& out);
  void step_key(const Item& item, uint8_t byte, Items& out);
  void step_tracked(const Item& item, uint8_t byte, Items& out);
  void open_keys(const Item& item, Items& out);
  void phase(Item item, ObjectPhase next, Items& out);  // with the space in front of it
  void enter_phase(const Item& item, Items& out);
  uint32_t first_seen(int object);
  uint32_t see_named(uint32_t seen, int place);
  uint32_t see_pattern(uint32_t seen, int pattern, const std::u32string& key);
  uint32_t intern_seen(Seen seen);
  void find_allowed(Seen& seen);
  bool key_possible(const Seen& seen, const KeyNode& node) const;
  uint32_t intern_tracked(Tracked tracked);

  // walk_order.cpp
  uint32_t first_taken(int order);
  uint32_t take_part(uint32_t taken, size_t part);
  static std::string name_of(const Taken& taken);
  uint32_t intern_taken(Taken taken);
  void collect_keys(std::span<Item> pool);
  uint32_t take_key(uint32_t taken, size_t part, const std::u32string& key);
  std::vector<std::u32string_view> alike(uint32_t taken, const Tracked& key) const;
  bool has_others(RegexId regex, size_t rivals);
  bool step_new_key(Tracked& tracked, Spelling spelling, uint8_t byte,
                    std::vector<std::u32string_view> rivals);
  int64_t keys_left(const Taken& taken, size_t part, int64_t enough);
  void find_allowed(Taken& taken);
  void enter_part(NodeId id, uint32_t taken, SetId below, Items& out);
  void after_part(const Item& item, Items& out);
  void begin_key(NodeId id, uint32_t taken, size_t part, SetId below, Items& out);
  void behind_key(const Item& item, Items& out);
  void step_part_key(const Item& item, uint8_t byte, Items& out);
  bool step_tracked_key(Tracked& tracked, Spelling spelling, uint8_t byte);

  const Grammar::Impl& grammar_;
  std::vector<Set> sets_;
  Items pool_;
  std::vector<int32_t> table_;  // open addressing over sets_
  std::vector<uint64_t> hashes_;
  std::unordered_map<uint64_t, SetId> united_;
  std::vector<Seen> seen_;
  std::unordered_map<std::string, uint32_t> seen_by_key_;
  std::vector<Tracked> tracked_;
  std::unordered_map<std::string, uint32_t> tracked_by_key_;
  std::vector<Taken> taken_;
  std::unordered_map<std::string, uint32_t> taken_by_key_;
  std::deque<std::u32string> key_texts_;  // of Taken, by number
  std::unordered_map<std::u32string, int> key_numbers_;
  size_t key_bytes_ = 0;                            // of what was there, and of keys
  std::unordered_map<int32_t, CharClass> classes_;  // by set of points and spelling
  std::deque<Loop> loops_;                          // a reference stays good
  std::unordered_map<uint64_t, SetId> relaxed_;     // by set and length
  std::unordered_map<SetId, SetId> nameless_;       // where it is another set
  size_t step_tables_ = 0;
  SetId start_ = kDead;
  bool limited_ = false;
};

}  // namespace brass::grammar
