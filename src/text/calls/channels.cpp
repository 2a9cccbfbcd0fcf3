#include "text/calls/channels.h"

#include <algorithm>
#include <array>

namespace brass::calls {

namespace {

constexpr std::string_view kStart = "<|start|>", kChannel = "<|channel|>", kMessage = "<|message|>",
                           kConstrain = "<|constrain|>", kTo = "to=";
constexpr std::array<std::string_view, 3> kEnds = {"<|end|>", "<|call|>", "<|return|>"};
constexpr size_t kMaxHeader = 512;

// Whether a header may begin so.
bool begins_header(std::string_view text) {
  text = trimmed(text);
  for (const std::string_view mark : {kStart, kChannel, kConstrain, kMessage, kTo}) {
    const size_t common = std::min(mark.size(), text.size());
    if (text.substr(0, common) == mark.substr(0, common)) return true;
  }
  return false;
}

std::string_view word_behind(std::string_view text, std::string_view mark) {
  const size_t at = text.find(mark);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + mark.size());
  while (!text.empty() && is_blank(text[0])) text.remove_prefix(1);
  const size_t end = std::min(text.find('<'), text.find_first_of(" \t\r\n"));
  return text.substr(0, end);
}

}  // namespace

void ChannelReader::say(std::string_view text, bool reasoning) {
  for (const char c : text) outbox_.say(c, reasoning);
}

Routine<bool> ChannelReader::run() {
  for (;;) {
    source_.mark();
    const bool found = co_await header();
    if (!found) {
      say(source_.since_mark(), false);
      header_ = {"", "", true};
    }
    const Header now = header_;
    co_await body(now);
    const int c = co_await source_.peek();
    if (c == Source::kEnd) break;
  }
  outbox_.finish();
  co_return true;
}

// Up to <|message|>; false where there is none in reach.
Routine<bool> ChannelReader::header() {
  std::string text;
  for (;;) {
    const int c = co_await source_.peek();
    if (c == Source::kEnd || text.size() > kMaxHeader) co_return false;
    source_.take();
    text += static_cast<char>(c);
    if (!begins_header(text)) co_return false;
    if (text.ends_with(kMessage)) break;
  }
  header_ = {std::string(word_behind(text, kChannel)), std::string(word_behind(text, kTo)), false};
  co_return true;
}

Routine<bool> ChannelReader::body(Header header) {
  if (!header.plain) outbox_.begin_part(header.reasoning());
  const std::string& to = header.recipient;
  if (!to.empty() && to != "assistant" && to != "all" && to != "user") co_await call(to, header.reasoning());
  co_return co_await text(header.reasoning());
}

Routine<bool> ChannelReader::call(const std::string& recipient, bool reasoning) {
  constexpr std::string_view kPrefix = "functions.";
  const std::string name = recipient.starts_with(kPrefix) ? recipient.substr(kPrefix.size()) : recipient;
  source_.mark();
  const bool good = co_await calls_.body(name);
  if (good) co_return true;
  outbox_.drop_call();
  say(source_.since_mark(), reasoning);
  co_return false;
}

// What the held text, which begins where a mark may, is: the end of a message (then `next` is where the next one
// begins), text, or it needs more. An end counts where the reply ends or another message begins.
ChannelReader::Held ChannelReader::judge(std::string_view held, size_t* next) {
  std::string_view rest = held;
  bool ended = false;
  for (const std::string_view end : kEnds) {
    if (!held.starts_with(end)) continue;
    rest.remove_prefix(end.size());
    ended = true;
  }
  while (ended && !rest.empty() && is_blank(rest[0])) rest.remove_prefix(1);
  *next = held.size() - rest.size();
  if (rest.starts_with(kStart) || (ended && rest.starts_with(kChannel))) return Held::kEnd;
  const auto begins = [&](std::string_view mark) { return mark.starts_with(rest); };
  const bool more = begins(kStart) || (ended && begins(kChannel)) ||
                    (!ended && std::any_of(kEnds.begin(), kEnds.end(), begins));
  return more ? Held::kMore : Held::kText;
}

// Up to the end of the message.
Routine<bool> ChannelReader::text(bool reasoning) {
  std::string held;
  for (;;) {
    const int c = co_await source_.peek();
    if (c == Source::kEnd) break;
    source_.take();
    held += static_cast<char>(c);
    while (!held.empty()) {
      size_t next = 0;
      const Held now = held.size() > kMaxHeader ? Held::kText : judge(held, &next);
      if (now == Held::kMore) break;
      if (now == Held::kEnd) {
        source_.unread(std::string_view(held).substr(next));
        co_return true;
      }
      say(std::string_view(held).substr(0, 1), reasoning);
      held.erase(0, 1);
    }
  }
  // An end at the end of the reply is no text.
  for (const std::string_view end : kEnds)
    if (std::string_view(held).starts_with(end)) held.clear();
  say(held, reasoning);
  co_return true;
}

}  // namespace brass::calls
