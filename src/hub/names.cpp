#include "hub/names.h"

#include <algorithm>
#include <numeric>

namespace brass::hub {
namespace {

constexpr size_t kMaxName = 128;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return (c >= 'a' && c <= 'z') || is_digit(c); }
bool is_allowed(char c) { return is_word(c) || c == '.' || c == '_' || c == '-' || c == '+'; }

std::string_view file_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// Levenshtein's distance: insertions, deletions and substitutions between the two.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); j++) {
      const size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row[b.size()];
}

// Most names are long and most queries short: the distance to the best-matching front counts too.
size_t dissimilarity(std::string_view query, std::string_view name) {
  const size_t front = edit_distance(query, name.substr(0, query.size()));
  return std::min(2 * front, 2 * edit_distance(query, name)) +
         (name.find(query) == std::string_view::npos ? 1 : 0);
}

}  // namespace

Result<std::string> check_name(std::string_view name) {
  std::string out;
  std::transform(name.begin(), name.end(), std::back_inserter(out), lower);
  const bool ok = !out.empty() && out.size() <= kMaxName && is_word(out[0]) &&
                  std::all_of(out.begin(), out.end(), is_allowed);
  if (ok) return out;
  std::string shown;
  for (const char c : name.substr(0, 64)) {
    shown += static_cast<unsigned char>(c) < 0x20 || c == 0x7f || (c & 0x80) != 0 ? '?' : c;
  }
  return fail_hint(fmt::format("use up to {} letters, digits and . _ - +, a letter or digit first", kMaxName),
                   "'{}' is not a valid model name", shown);
}

std::string default_name(std::string_view path) {
  const auto split = parse_split_name(path);
  std::string_view file = file_of(split ? std::string_view(split->prefix) : path);
  if (file.size() > 5 && file.ends_with(".gguf")) file.remove_suffix(5);
  std::string out;
  for (const char c : file) {
    const char next = is_allowed(lower(c)) ? lower(c) : '-';
    if (out.empty() && !is_word(next)) continue;
    if (next == '-' && !out.empty() && out.back() == '-') continue;
    out += next;
  }
  out = out.substr(0, kMaxName);
  return out.empty() ? "model" : out;
}

bool is_plain_file_name(std::string_view name) {
  if (name.empty() || name.size() > 255 || name == "." || name == "..") return false;
  return std::none_of(name.begin(), name.end(),
                      [](char c) { return c == '/' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

std::string SplitName::part(uint32_t index) const {
  return fmt::format("{}-{:05}-of-{:05}.gguf", prefix, index + 1, count);
}

std::optional<SplitName> parse_split_name(std::string_view path) {
  constexpr std::string_view kShape = "-#####-of-#####.gguf";
  if (file_of(path).size() <= kShape.size()) return std::nullopt;
  const std::string_view tail = path.substr(path.size() - kShape.size());
  uint32_t numbers[2] = {0, 0};
  for (size_t i = 0; i < kShape.size(); i++) {
    if (kShape[i] == '#' ? !is_digit(tail[i]) : tail[i] != kShape[i]) return std::nullopt;
    if (kShape[i] == '#')
      numbers[i > 6 ? 1 : 0] = numbers[i > 6 ? 1 : 0] * 10 + static_cast<uint32_t>(tail[i] - '0');
  }
  if (numbers[0] < 1 || numbers[0] > numbers[1] || numbers[1] < 2) return std::nullopt;
  return SplitName{std::string(path.substr(0, path.size() - kShape.size())), numbers[1]};
}

std::vector<std::string> closest_names(std::string_view name, std::vector<std::string> known, size_t limit) {
  std::string query;
  std::transform(name.begin(), name.begin() + static_cast<ptrdiff_t>(std::min(name.size(), kMaxName)),
                 std::back_inserter(query), lower);
  std::sort(known.begin(), known.end(), [&](const std::string& a, const std::string& b) {
    const size_t far_a = dissimilarity(query, a), far_b = dissimilarity(query, b);
    return far_a != far_b ? far_a < far_b : a < b;
  });
  known.resize(std::min(known.size(), limit));
  return known;
}

}  // namespace brass::hub
