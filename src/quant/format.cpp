#include "quant/format.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace brass {

#define X(folder) extern const Format format_##folder;
#include "formats.inc"
#undef X

namespace {

auto sorted_by_id() {
  std::array formats = {
#define X(folder) &format_##folder,
#include "formats.inc"
#undef X
  };
  std::sort(formats.begin(), formats.end(),
            [](const Format* a, const Format* b) { return a->type < b->type; });
  return formats;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

std::span<const Format* const> all_formats() {
  static const auto formats = sorted_by_id();
  return formats;
}

const Format* find_format(Type type) {
  for (const Format* f : all_formats()) {
    if (f->type == type) return f;
  }
  return nullptr;
}

const Format* find_format(std::string_view name) {
  for (const Format* f : all_formats()) {
    if (equal_ignoring_case(f->name, name)) return f;
  }
  return nullptr;
}

std::string supported_format_names() {
  std::string text;
  for (const Format* f : all_formats()) {
    if (!text.empty()) text += ", ";
    text += f->name;
  }
  return text;
}

}  // namespace brass
