#include "text/tokenizer_stream.h"

#include <algorithm>

#include "text/tokenizer_utf8.h"

namespace brass {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

}  // namespace

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, Options options)
    : tokenizer_(tokenizer),
      options_(options),
      drop_blank_(tokenizer.adds_blank() && !options.continues_text) {
  // Each byte of a piece may become a U+FFFD.
  waiting_.reserve(tokenizer.longest_piece() + 4);
  out_.reserve(kReplacement.size() * (tokenizer.longest_piece() + 4));
}

std::string_view StreamDecoder::push(int32_t id) {
  out_.clear();
  take(tokenizer_.shown(id, options_.special, drop_blank_));
  return out_;
}

std::string_view StreamDecoder::flush() {
  out_.assign(waiting_.empty() ? std::string_view() : kReplacement);
  waiting_.clear();
  drop_blank_ = tokenizer_.adds_blank() && !options_.continues_text;
  return out_;
}

void StreamDecoder::take(std::string_view bytes) {
  waiting_.append(bytes);
  size_t at = 0;
  while (at < waiting_.size()) {
    const size_t valid_end = tokens::valid_utf8_end(waiting_, at);
    out_.append(waiting_, at, valid_end - at);
    at = valid_end;
    if (at == waiting_.size()) break;
    const tokens::Utf8Step step = tokens::utf8_step(waiting_, at);
    if (step.state == tokens::Utf8State::kCut) break;
    out_.append(kReplacement);
    at += step.length;
  }
  waiting_.erase(0, at);
}

}  // namespace brass
