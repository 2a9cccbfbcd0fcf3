#include <utf8proc.h>

#include <map>
#include <mutex>

#include "text/grammar/regex_ast.h"

namespace brass::grammar {

namespace {

struct Category {
  std::string_view brief, full;
  uint32_t mask;  // of utf8proc's categories
};

constexpr uint32_t bit(int category) { return 1u << category; }
constexpr uint32_t kCased = bit(UTF8PROC_CATEGORY_LU) | bit(UTF8PROC_CATEGORY_LL) | bit(UTF8PROC_CATEGORY_LT);
constexpr uint32_t kLetter = kCased | bit(UTF8PROC_CATEGORY_LM) | bit(UTF8PROC_CATEGORY_LO);
constexpr uint32_t kMark = bit(UTF8PROC_CATEGORY_MN) | bit(UTF8PROC_CATEGORY_MC) | bit(UTF8PROC_CATEGORY_ME);
constexpr uint32_t kNumber =
    bit(UTF8PROC_CATEGORY_ND) | bit(UTF8PROC_CATEGORY_NL) | bit(UTF8PROC_CATEGORY_NO);
constexpr uint32_t kPunctuation = bit(UTF8PROC_CATEGORY_PC) | bit(UTF8PROC_CATEGORY_PD) |
                                  bit(UTF8PROC_CATEGORY_PS) | bit(UTF8PROC_CATEGORY_PE) |
                                  bit(UTF8PROC_CATEGORY_PI) | bit(UTF8PROC_CATEGORY_PF) |
                                  bit(UTF8PROC_CATEGORY_PO);
constexpr uint32_t kSymbol = bit(UTF8PROC_CATEGORY_SM) | bit(UTF8PROC_CATEGORY_SC) |
                             bit(UTF8PROC_CATEGORY_SK) | bit(UTF8PROC_CATEGORY_SO);
constexpr uint32_t kSeparator =
    bit(UTF8PROC_CATEGORY_ZS) | bit(UTF8PROC_CATEGORY_ZL) | bit(UTF8PROC_CATEGORY_ZP);
constexpr uint32_t kOther = bit(UTF8PROC_CATEGORY_CC) | bit(UTF8PROC_CATEGORY_CF) |
                            bit(UTF8PROC_CATEGORY_CS) | bit(UTF8PROC_CATEGORY_CO) | bit(UTF8PROC_CATEGORY_CN);

// Unicode's names (PropertyValueAliases.txt).
constexpr Category kCategories[] = {
    {"L", "Letter", kLetter},
    {"LC", "Cased_Letter", kCased},
    {"Lu", "Uppercase_Letter", bit(UTF8PROC_CATEGORY_LU)},
    {"Ll", "Lowercase_Letter", bit(UTF8PROC_CATEGORY_LL)},
    {"Lt", "Titlecase_Letter", bit(UTF8PROC_CATEGORY_LT)},
    {"Lm", "Modifier_Letter", bit(UTF8PROC_CATEGORY_LM)},
    {"Lo", "Other_Letter", bit(UTF8PROC_CATEGORY_LO)},
    {"M", "Mark", kMark},
    {"M", "Combining_Mark", kMark},
    {"Mn", "Nonspacing_Mark", bit(UTF8PROC_CATEGORY_MN)},
    {"Mc", "Spacing_Mark", bit(UTF8PROC_CATEGORY_MC)},
    {"Me", "Enclosing_Mark", bit(UTF8PROC_CATEGORY_ME)},
    {"N", "Number", kNumber},
    {"Nd", "Decimal_Number", bit(UTF8PROC_CATEGORY_ND)},
    {"Nd", "digit", bit(UTF8PROC_CATEGORY_ND)},
    {"Nl", "Letter_Number", bit(UTF8PROC_CATEGORY_NL)},
    {"No", "Other_Number", bit(UTF8PROC_CATEGORY_NO)},
    {"P", "Punctuation", kPunctuation},
    {"P", "punct", kPunctuation},
    {"Pc", "Connector_Punctuation", bit(UTF8PROC_CATEGORY_PC)},
    {"Pd", "Dash_Punctuation", bit(UTF8PROC_CATEGORY_PD)},
    {"Ps", "Open_Punctuation", bit(UTF8PROC_CATEGORY_PS)},
    {"Pe", "Close_Punctuation", bit(UTF8PROC_CATEGORY_PE)},
    {"Pi", "Initial_Punctuation", bit(UTF8PROC_CATEGORY_PI)},
    {"Pf", "Final_Punctuation", bit(UTF8PROC_CATEGORY_PF)},
    {"Po", "Other_Punctuation", bit(UTF8PROC_CATEGORY_PO)},
    {"S", "Symbol", kSymbol},
    {"Sm", "Math_Symbol", bit(UTF8PROC_CATEGORY_SM)},
    {"Sc", "Currency_Symbol", bit(UTF8PROC_CATEGORY_SC)},
    {"Sk", "Modifier_Symbol", bit(UTF8PROC_CATEGORY_SK)},
    {"So", "Other_Symbol", bit(UTF8PROC_CATEGORY_SO)},
    {"Z", "Separator", kSeparator},
    {"Zs", "Space_Separator", bit(UTF8PROC_CATEGORY_ZS)},
    {"Zl", "Line_Separator", bit(UTF8PROC_CATEGORY_ZL)},
    {"Zp", "Paragraph_Separator", bit(UTF8PROC_CATEGORY_ZP)},
    {"C", "Other", kOther},
    {"Cc", "Control", bit(UTF8PROC_CATEGORY_CC)},
    {"Cc", "cntrl", bit(UTF8PROC_CATEGORY_CC)},
    {"Cf", "Format", bit(UTF8PROC_CATEGORY_CF)},
    {"Co", "Private_Use", bit(UTF8PROC_CATEGORY_CO)},
    {"Cn", "Unassigned", bit(UTF8PROC_CATEGORY_CN)},
    {"Assigned", "Assigned", ~bit(UTF8PROC_CATEGORY_CN)},
    {"Any", "Any", ~0u},
};

CodePoints of_categories(uint32_t mask) {
  CodePoints out;
  for (char32_t point = 0; point <= kLastPoint; ++point) {
    if ((bit(utf8proc_category(static_cast<utf8proc_int32_t>(point))) & mask) == 0) continue;
    if (!out.empty() && out.back().second + 1 == point) {
      out.back().second = point;
    } else {
      out.emplace_back(point, point);
    }
  }
  return normalized(std::move(out));
}

template <class Test>
CodePoints where(const Test& test) {
  CodePoints out;
  for (char32_t point = 0; point <= kLastPoint; ++point) {
    if (test(static_cast<utf8proc_int32_t>(point))) out.emplace_back(point, point);
  }
  return normalized(std::move(out));
}

CodePoints make_property(std::string_view name) {
  for (const std::string_view prefix : {"General_Category=", "gc="}) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  for (const Category& row : kCategories) {
    if (name == row.brief || name == row.full) return of_categories(row.mask);
  }
  if (name == "ASCII") return {{0, 0x7F}};
  if (name == "ASCII_Hex_Digit" || name == "AHex") return {{'0', '9'}, {'A', 'F'}, {'a', 'f'}};
  if (name == "Lowercase" || name == "Lower") return where(utf8proc_islower);
  if (name == "Uppercase" || name == "Upper") return where(utf8proc_isupper);
  if (name == "White_Space" || name == "space") {
    return {{9, 13},          {' ', ' '},       {0x85, 0x85},     {0xA0, 0xA0},     {0x1680, 0x1680},
            {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}};
  }
  return {};
}

}  // namespace

const CodePoints& digit_points() {
  static const CodePoints kPoints = {{'0', '9'}};
  return kPoints;
}

const CodePoints& word_points() {
  static const CodePoints kPoints = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  return kPoints;
}

// ECMA-262: WhiteSpace and LineTerminator.
const CodePoints& space_points() {
  static const CodePoints kPoints = {{9, 13},          {' ', ' '},       {0xA0, 0xA0},     {0x1680, 0x1680},
                                     {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F},
                                     {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
  return kPoints;
}

const CodePoints* property_points(std::string_view name) {
  static std::mutex mutex;
  static std::map<std::string, CodePoints, std::less<>> known;  // only names that exist, so it stays small
  const std::scoped_lock lock(mutex);
  if (const auto found = known.find(name); found != known.end()) return &found->second;
  CodePoints made = make_property(name);
  if (made.empty()) return nullptr;
  return &known.emplace(name, std::move(made)).first->second;
}

}  // namespace brass::grammar
