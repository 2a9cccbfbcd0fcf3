#include "text/calls/parser.h"

#include <algorithm>
#include <utility>

#include "text/calls/channels.h"
#include "text/calls/reader.h"

namespace brass::calls {

namespace {

// Bytes that failed calls may cost again for each byte of the text.
const std::string kNoMark;
constexpr size_t kReplays = 16, kFreeReplays = size_t{1} << 16;

}  // namespace

// The text between calls: looks for marks, holds back what may become one.
class CallParser::Impl {
 public:
  Impl(CallFormat format, ToolSet tools, const ParserOptions& options)
      : format_(std::move(format)),
        tools_(std::move(tools)),
        reader_(format_, tools_, source_, outbox_, options.id_seed),
        channels_(source_, outbox_, reader_),
        in_reasoning_(options.in_reasoning && !format_.reasoning.end.empty()),
        routine_(format_.channels == Channels::kHarmony ? channels_.run() : text()) {
    if (in_reasoning_) outbox_.begin_part(true);
    collect_marks();
  }

  std::vector<Delta> feed(std::string_view bytes) {
    fed_ += bytes.size();
    source_.push(bytes);
    return advance(false);
  }

  std::vector<Delta> finish() {
    source_.end();
    return advance(true);
  }

  const ParsedMessage& message() const { return outbox_.message(); }

 private:
  enum class Kind { kSection, kCall, kInner, kNamed, kThink, kThought, kDropped, kTurnEnd };
  struct Mark {
    std::string text;
    Kind kind;
  };

  std::vector<Delta> advance(bool last) {
    source_.run(routine_.handle());
    reader_.flush();
    return outbox_.take(last);
  }

  void add_mark(const std::string& text, Kind kind) {
    if (text.empty()) return;
    for (const Mark& mark : marks_)
      if (mark.text == text) return;
    marks_.push_back({text, kind});
  }

  void collect_marks() {
    add_mark(format_.reasoning.begin, Kind::kThink);
    add_mark(format_.reasoning.end, Kind::kThought);
    add_mark(format_.section_begin, Kind::kSection);
    if (!format_.content_name.empty()) add_mark(format_.call_begin, Kind::kNamed);
    if (format_.shape != Shape::kNone) add_mark(format_.call_begin, Kind::kCall);
    // What begins the inside of a call is good enough where it looks like a mark itself.
    if (format_.shape == Shape::kHeader && !format_.id_first && format_.name_begin.size() >= 6 &&
        format_.name_begin[0] == '<')
      add_mark(format_.name_begin, Kind::kInner);
    for (const std::string& text : format_.dropped) add_mark(text, Kind::kDropped);
    for (const std::string& text : format_.turn_ends) add_mark(text, Kind::kTurnEnd);
  }

  // The longest mark with which the text begins.
  const Mark* mark_in(std::string_view text) const {
    const Mark* found = nullptr;
    for (const Mark& mark : marks_)
      if (text.starts_with(mark.text) && counts(mark) && (!found || mark.text.size() > found->text.size()))
        found = &mark;
    return found;
  }
  // Whether more text may make a mark of it, or a longer one than it has.
  bool may_grow(std::string_view text) const {
    return std::any_of(marks_.begin(), marks_.end(), [&](const Mark& mark) {
      return mark.text.size() > text.size() && mark.text.starts_with(text) && counts(mark);
    });
  }
  // Reasoning begins where nothing was said since the start or the last call, and ends where it began.
  bool counts(const Mark& mark) const {
    if (mark.kind == Kind::kThink) return in_reasoning_ ? reasoning_is_fresh_ : outbox_.content_is_blank();
    if (mark.kind == Kind::kThought) return in_reasoning_;
    if (mark.kind == Kind::kDropped) return !in_reasoning_;
    return true;
  }

  void say(std::string_view text) {
    for (const char c : text) {
      if (is_blank(c) && !skipped_.empty()) {
        skipped_ += c;
        continue;
      }
      if (!skipped_.empty()) {
        const std::string skipped = std::exchange(skipped_, {});
        for (const char s : skipped) outbox_.say(s, in_reasoning_);
      }
      outbox_.say(c, in_reasoning_);
      if (!is_blank(c)) reasoning_is_fresh_ = false;
      line_start_ = c == '\n' || (line_start_ && is_blank(c));
    }
  }

  // Whether a call may begin here without a mark.
  bool bare_here(int c) const {
    if (!format_.bare || in_reasoning_ || !held_.empty()) return false;
    const bool object = c == '{' && format_.shape == Shape::kObject;
    const bool list = c == '[' && (format_.shape == Shape::kPython || format_.list);
    if (!object && !list) return false;
    return outbox_.content_is_blank() || (line_start_ && !tools_.empty());
  }

  Routine<bool> text() {
    if (format_.starts_named && !in_reasoning_) co_await start_named();
    for (;;) {
      const int c = co_await source_.peek();
      if (c == Source::kEnd && held_.empty()) break;
      if (c == Source::kEnd) {
        co_await settle();
        continue;
      }
      if (bare_here(c)) {
        co_await attempt(Kind::kCall, kNoMark, true);
        continue;
      }
      source_.take();
      if (after_bare_ && held_.empty() && (c == ';' || c == ',')) {
        skipped_ += static_cast<char>(c);
        continue;
      }
      held_ += static_cast<char>(c);
      while (!held_.empty() && !may_grow(held_)) co_await settle();
    }
    outbox_.finish();
    co_return true;
  }

  // What is held begins with a mark, which is acted on, or with a byte of text. What is behind is read again.
  Routine<bool> settle() {
    const Mark* mark = mark_in(held_);
    if (mark == nullptr) {
      after_bare_ = after_bare_ && is_blank(held_[0]);
      say(held_.substr(0, 1));
      held_.erase(0, 1);
      co_return true;
    }
    const Mark found = *mark;
    source_.unread(std::string_view(held_).substr(found.text.size()));
    held_.clear();
    co_return co_await act(found);
  }

  Routine<bool> act(const Mark& mark) {
    switch (mark.kind) {
      case Kind::kThink:
        outbox_.drop_blanks();
        if (!in_reasoning_) outbox_.begin_part(true);
        in_reasoning_ = true;
        reasoning_is_fresh_ = false;
        break;
      case Kind::kThought:
        in_reasoning_ = false;
        outbox_.begin_part(false);
        line_start_ = true;
        break;
      case Kind::kDropped:
        line_start_ = true;
        break;
      case Kind::kTurnEnd:
        co_await turn_end(mark.text);
        break;
      default:
        co_await attempt(mark.kind, mark.text, false);
    }
    co_return true;
  }

  // What ends a turn is dropped where nothing follows it.
  Routine<bool> turn_end(std::string_view mark) {
    std::string tail(mark);
    int c = co_await source_.peek();
    while (c != Source::kEnd && is_blank(static_cast<char>(c))) {
      tail += static_cast<char>(c);
      source_.take();
      c = co_await source_.peek();
    }
    if (c != Source::kEnd) say(tail);
    co_return true;
  }

  // Behind a mark of a call. What is no call is text: its mark at once, the rest is read again.
  Routine<bool> attempt(Kind kind, const std::string& mark, bool bare) {
    source_.mark();
    const size_t before = outbox_.complete_calls();
    bool content = false, good = false;
    if (bare) {
      good = co_await reader_.bare();
    } else if (kind == Kind::kSection) {
      good = co_await reader_.section();
    } else if (kind == Kind::kCall) {
      good = co_await reader_.call();
    } else if (kind == Kind::kInner) {
      good = co_await reader_.call_without_mark();
    } else {
      good = co_await reader_.named(&content);
    }
    const bool any = outbox_.complete_calls() > before;
    if (good && content) {
      outbox_.drop_blanks();
      outbox_.begin_part(false);
    } else if (any) {
      skipped_.clear();
      after_bare_ = bare;
      line_start_ = true;
    }
    if (!good) co_await take_back(any ? kNoMark : mark);
    co_return true;
  }

  Routine<bool> take_back(const std::string& found) {
    std::string mark = found;
    outbox_.drop_call();
    std::string raw = source_.since_mark();
    const int next = co_await source_.peek();
    replayed_ += raw.size();
    // A text that ends in a call: what is inside is that call's, not another one.
    const bool cut = next == Source::kEnd;
    if (cut || replayed_ > kFreeReplays + kReplays * fed_) {
      say(mark + raw);
      co_return true;
    }
    if (mark.empty() && !raw.empty()) {
      mark = raw.substr(0, 1);
      raw.erase(0, 1);
    }
    say(mark);
    source_.unread(raw);
    co_return true;
  }

  // The reply's first words are what would stand behind a mark that the prompt has.
  Routine<bool> start_named() {
    co_await attempt(Kind::kNamed, kNoMark, false);
    co_return true;
  }

  const CallFormat format_;
  const ToolSet tools_;
  Source source_;
  Outbox outbox_;
  CallReader reader_;
  ChannelReader channels_;
  std::vector<Mark> marks_;
  std::string held_;     // what may begin a mark
  std::string skipped_;  // what separates bare calls, if one follows
  bool in_reasoning_, reasoning_is_fresh_ = true, line_start_ = true, after_bare_ = false;
  size_t fed_ = 0, replayed_ = 0;
  Routine<bool> routine_;
};

CallParser::CallParser(CallFormat format, ToolSet tools, const ParserOptions& options)
    : impl_(std::make_unique<Impl>(std::move(format), std::move(tools), options)) {}
CallParser::~CallParser() = default;
CallParser::CallParser(CallParser&&) noexcept = default;
CallParser& CallParser::operator=(CallParser&&) noexcept = default;

std::vector<Delta> CallParser::feed(std::string_view text) { return impl_->feed(text); }
std::vector<Delta> CallParser::finish() { return impl_->finish(); }
const ParsedMessage& CallParser::message() const { return impl_->message(); }

ParsedMessage parse_reply(const CallFormat& format, const ToolSet& tools, const ParserOptions& options,
                          std::string_view text) {
  CallParser parser(format, tools, options);
  parser.feed(text);
  parser.finish();
  return parser.message();
}

}  // namespace brass::calls
