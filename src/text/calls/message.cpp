#include "text/calls/message.h"

#include <utility>

#include "text/calls/format.h"

namespace brass::calls {

namespace {

// Where the text's last character is cut short: the bytes of it that are there.
size_t cut_tail(std::string_view text) {
  for (size_t back = 1; back <= 3 && back <= text.size(); back++) {
    const auto c = static_cast<unsigned char>(text[text.size() - back]);
    if (c < 0x80) return 0;
    if (c < 0xC0) continue;
    const size_t length = c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
    return back < length ? back : 0;
  }
  return 0;
}

}  // namespace

void Outbox::append(Delta::Kind kind, int index, std::string_view text) {
  if (deltas_.empty() || deltas_.back().kind != kind || deltas_.back().index != index)
    deltas_.push_back({kind, index, {}, {}, {}});
  deltas_.back().text += text;
}

void Outbox::say(char c, bool reasoning) {
  Text& part = reasoning ? reasoning_ : content_;
  std::string& all = reasoning ? message_.reasoning : message_.content;
  if (is_blank(c)) {
    part.waiting += c;
    return;
  }
  if (part.part_is_blank && part.after_mark) {
    const size_t line = part.waiting.rfind('\n');
    // Between two texts with a call or a fence between them a line break stays.
    if (!all.empty())
      part.waiting = "\n" + part.waiting.substr(line == std::string::npos ? 0 : line + 1);
    else if (line != std::string::npos)
      part.waiting.erase(0, line + 1);
  }
  const Delta::Kind kind = reasoning ? Delta::Kind::kReasoning : Delta::Kind::kContent;
  part.part_is_blank = false;
  part.waiting += c;
  all += part.waiting;
  append(kind, -1, part.waiting);
  part.waiting.clear();
}

void Outbox::begin_part(bool reasoning) {
  Text& part = reasoning ? reasoning_ : content_;
  part.waiting.clear();
  part.part_is_blank = true;
  part.after_mark = true;
}

void Outbox::begin_call(std::string id, std::string name) {
  for (Text* text : {&content_, &reasoning_}) text->before_call = std::exchange(text->waiting, {});
  call_ = {std::move(id), std::move(name), {}};
  in_call_ = true;
  deltas_.push_back({Delta::Kind::kCallBegin, next_index_, {}, call_.id, call_.name});
}

void Outbox::arguments(std::string_view fragment) {
  if (fragment.empty()) return;
  call_.arguments += fragment;
  append(Delta::Kind::kArguments, next_index_, fragment);
}

void Outbox::end_call() {
  deltas_.push_back({Delta::Kind::kCallEnd, next_index_++, {}, {}, {}});
  message_.calls.push_back(std::move(call_));
  in_call_ = false;
}

void Outbox::drop_call() {
  if (!in_call_) return;
  for (Text* text : {&content_, &reasoning_}) text->waiting = std::exchange(text->before_call, {});
  deltas_.push_back({Delta::Kind::kCallDropped, next_index_++, {}, {}, {}});
  in_call_ = false;
}

// Blanks at the end are content, but not alone behind a call or a fence.
void Outbox::finish() {
  if (content_.waiting.empty() || (content_.after_mark && content_.part_is_blank)) return;
  message_.content += content_.waiting;
  append(Delta::Kind::kContent, -1, content_.waiting);
  content_.waiting.clear();
}

std::vector<Delta> Outbox::take(bool last) {
  std::vector<Delta> out = std::move(deltas_);
  deltas_.clear();
  if (out.empty() || last) return out;
  const size_t cut = cut_tail(out.back().text);
  if (cut > 0) {
    Delta rest = out.back();
    rest.text = rest.text.substr(rest.text.size() - cut);
    out.back().text.resize(out.back().text.size() - cut);
    if (out.back().text.empty()) out.pop_back();
    deltas_.push_back(std::move(rest));
  }
  return out;
}

}  // namespace brass::calls
