#include "text/tokenizer.h"

#include <algorithm>

#include "text/tokenizer_impl.h"
#include "text/tokenizer_nfc.h"
#include "text/tokenizer_utf8.h"

namespace brass {

namespace {

constexpr std::string_view kBlankMark = "\xE2\x96\x81";  // U+2581

// All segments as one text, and which stretches of it are trusted.
struct Joined {
  std::string text;
  std::vector<std::pair<size_t, size_t>> trusted;  // [begin, end), in order, none touching another

  void append(std::string_view piece, bool is_trusted) {
    const size_t begin = text.size();
    text.append(piece);
    if (!is_trusted || piece.empty()) return;
    if (!trusted.empty() && trusted.back().second == begin) {
      trusted.back().second = text.size();
    } else {
      trusted.emplace_back(begin, text.size());
    }
  }
};

// Where a blank mark is a blank: inside the tokenizer blanks are written as blanks.
Joined with_blanks(const Joined& joined) {
  Joined out;
  size_t at = 0, stretch = 0;
  while (at < joined.text.size()) {
    while (stretch < joined.trusted.size() && joined.trusted[stretch].second <= at) ++stretch;
    const bool trusted = stretch < joined.trusted.size() && joined.trusted[stretch].first <= at;
    size_t limit = joined.text.size();
    if (stretch < joined.trusted.size())
      limit = trusted ? joined.trusted[stretch].second : joined.trusted[stretch].first;
    if (joined.text.compare(at, kBlankMark.size(), kBlankMark) == 0) {
      // A mark across a border is trusted only as a whole.
      out.append(" ", trusted && at + kBlankMark.size() <= limit);
      at += kBlankMark.size();
      continue;
    }
    const size_t end = std::min(limit, joined.text.find(kBlankMark, at));
    out.append(std::string_view(joined.text).substr(at, end - at), trusted);
    at = end;
  }
  return out;
}

}  // namespace

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::~Tokenizer() = default;

std::vector<int32_t> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  const Segment segment{text, options.parse_special};
  return encode_segments({&segment, 1}, options);
}

std::vector<int32_t> Tokenizer::encode_segments(std::span<const Segment> segments,
                                                const EncodeOptions& options) const {
  Joined joined;
  for (const Segment& segment : segments) joined.append(segment.text, segment.trusted);
  if (impl_->blank_mark && joined.text.find(kBlankMark) != std::string::npos) joined = with_blanks(joined);

  Impl::Work work;
  const std::string_view text = joined.text;
  work.ids.reserve(text.size() / 3 + 4);
  if (options.add_bos.value_or(impl_->add_bos) && impl_->bos >= 0) work.ids.push_back(impl_->bos);
  size_t run = 0;  // text from here on is not yet encoded
  auto trusted = joined.trusted.begin();
  for (size_t at = impl_->special.candidate(text, 0); at < text.size();) {
    while (trusted != joined.trusted.end() && trusted->second <= at) ++trusted;
    const size_t trusted_end = trusted != joined.trusted.end() && trusted->first <= at ? trusted->second : 0;
    const tokens::SpecialPieces::Match match = impl_->special.match(text, at, trusted_end);
    if (match.id >= 0) {
      impl_->encode_run(text.substr(run, at - run), options.normalize, work);
      work.ids.push_back(match.id);
      run = at + match.length;
    }
    at = impl_->special.candidate(text, match.id >= 0 ? run : at + 1);
  }
  impl_->encode_run(text.substr(run), options.normalize, work);
  if (options.add_eos.value_or(impl_->add_eos) && impl_->eos >= 0) work.ids.push_back(impl_->eos);
  return std::move(work.ids);
}

// Text between special pieces.
void Tokenizer::Impl::encode_run(std::string_view run, bool normalize, Work& work) const {
  if (run.empty()) return;
  work.words.after_unknown = false;
  if (word_piece) return word_piece->encode(run, normalize, work.ids);
  if (normalize && nfc) run = tokens::to_nfc(run, work.normal);
  if (pre) return encode_bytes(run, work);
  if (sentence) {
    sentence->normalize(run, normalize, work.joined);
    run = work.joined;
    if (run.empty()) return;
  } else if (blank_in_front) {
    work.joined.assign(1, ' ').append(run);
    run = work.joined;
  }
  encode_characters(run, work);
}

// Words by the pre-tokenizer; what is not UTF-8 stands between words.
void Tokenizer::Impl::encode_bytes(std::string_view run, Work& work) const {
  for (size_t at = 0; at < run.size();) {
    const size_t valid_end = tokens::valid_utf8_end(run, at);
    work.ends.clear();
    pre->split(run.substr(at, valid_end - at), work.ends, work.pre);
    size_t begin = at;
    for (const size_t end : work.ends) {
      words->encode(run.substr(begin, at + end - begin), work.ids, work.words);
      begin = at + end;
    }
    at = valid_end;
    while (at < run.size()) {
      const tokens::Utf8Step step = tokens::utf8_step(run, at);
      if (step.state == tokens::Utf8State::kValid) break;
      at += step.length;
    }
    if (at > valid_end) words->encode(run.substr(valid_end, at - valid_end), work.ids, work.words);
  }
}

// These vocabularies merge over the whole run. Merges never join neighbours that no piece holds side by side,
// so the run falls into words there, with the same result.
void Tokenizer::Impl::encode_characters(std::string_view run, Work& work) const {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(run[i]); };
  size_t begin = 0;
  for (size_t at = 1; at < run.size(); ++at) {
    const bool inside_character = (byte(at) & 0xC0) == 0x80;
    if (inside_character || words->joins(byte(at - 1), byte(at))) continue;
    words->encode(run.substr(begin, at - begin), work.ids, work.words);
    begin = at;
  }
  words->encode(run.substr(begin), work.ids, work.words);
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool special) const {
  std::string out;
  out.reserve(4 * ids.size());
  bool drop_blank = adds_blank();
  for (const int32_t id : ids) out.append(shown(id, special, drop_blank));
  return out;
}

std::string_view Tokenizer::shown(int32_t id, bool special, bool& drop_blank) const {
  std::string_view bytes = piece(id);
  if (is_special(id)) {
    drop_blank = adds_blank();
    return special || !is_control(id) ? bytes : std::string_view();
  }
  if (drop_blank && bytes.starts_with(' ')) bytes.remove_prefix(1);
  drop_blank = drop_blank && !is_valid(id);
  return bytes;
}

std::string_view Tokenizer::piece(int32_t id) const {
  return is_valid(id) ? impl_->vocab.bytes(id) : std::string_view();
}

int32_t Tokenizer::find_special(std::string_view text) const {
  if (text.empty()) return -1;
  const tokens::SpecialPieces::Match match = impl_->special.match(text, 0, text.size());
  return match.length == text.size() ? match.id : -1;
}

int32_t Tokenizer::size() const { return impl_->vocab.size(); }
size_t Tokenizer::longest_piece() const { return impl_->vocab.longest(); }
bool Tokenizer::is_control(int32_t id) const { return is_valid(id) && impl_->vocab.is_hidden(id); }
bool Tokenizer::is_special(int32_t id) const {
  return is_control(id) || (is_valid(id) && impl_->vocab.kind(id) == TokenKind::kUserDefined);
}
bool Tokenizer::is_eog(int32_t id) const { return is_valid(id) && impl_->vocab.is_eog(id); }
std::span<const int32_t> Tokenizer::eog_ids() const { return impl_->vocab.eog_ids(); }
int32_t Tokenizer::bos() const { return impl_->bos; }
int32_t Tokenizer::eos() const { return impl_->eos; }
bool Tokenizer::adds_bos() const { return impl_->add_bos; }
bool Tokenizer::adds_eos() const { return impl_->add_eos; }
bool Tokenizer::adds_blank() const { return impl_->blank_in_front; }
const std::string& Tokenizer::description() const { return impl_->description; }
const std::vector<std::string>& Tokenizer::warnings() const { return impl_->warnings; }

}  // namespace brass
