#include "text/grammar/schema_formats.h"

#include <algorithm>
#include <array>
#include <string>

namespace brass::grammar::schema {
namespace {

// RFC 3339, section 5.6; the days of February go by the Gregorian calendar.
constexpr const char* kDate =
    "[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    "|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    "|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29";
constexpr const char* kPlainTime =
    "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]+)?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])";

// RFC 3339, appendix A: units follow each other without a gap.
constexpr const char* kDuration =
    "P(?:[0-9]+W|(?:[0-9]+D|[0-9]+M(?:[0-9]+D)?|[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?)(?:T@)?|T@)";
constexpr const char* kDurationTime = "(?:[0-9]+S|[0-9]+M(?:[0-9]+S)?|[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?)";

constexpr const char* kUuid = "[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}";
constexpr const char* kByte = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";

// RFC 1123: letters, digits and hyphens; no label longer than 63. The whole is held to 253 apart.
constexpr const char* kHostname =
    "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*";

// RFC 6901 and the draft of relative pointers.
constexpr const char* kJsonPointer = "(?:/(?:[^~/]|~[01])*)*";
constexpr const char* kRelativePointer = "(?:0|[1-9][0-9]*)(?:#|(?:/(?:[^~/]|~[01])*)*)";

// RFC 6570.
constexpr const char* kUriTemplate =
    "(?:[!#$&(-;=?-\\[\\]_a-z~\\u00A0-\\uD7FF\\uE000-\\uFFFD]|%[0-9A-Fa-f]{2}|\\{[+#./"
    ";?&=,!@|]?V(?:,V)*\\})*";
constexpr const char* kTemplateVariable =
    "(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})(?:\\.?(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2}))*(?::[1-9][0-9]{0,3}|\\*)?";

std::string replaced(std::string text, std::string_view what, const std::string& with) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

std::string ipv4() { return replaced("B\\.B\\.B\\.B", "B", kByte); }

// RFC 4291, section 2.2: "::" stands for one group or more; the last two may be written as IPv4.
std::string ipv6() {
  const std::string group = "[0-9A-Fa-f]{1,4}";
  const std::string tail = "(?:" + group + ":" + group + "|" + ipv4() + ")";
  std::string out = "(?:" + group + ":){6}" + tail;
  for (int after = 5; after >= 0; after--) {  // groups after "::" before the last two
    const int before = 5 - after;
    out += "|";
    if (before == 1) out += "(?:" + group + ")?";
    if (before > 1) out += "(?:(?:" + group + ":){0," + std::to_string(before - 1) + "}" + group + ")?";
    out += "::";
    if (after > 0) out += "(?:" + group + ":){" + std::to_string(after) + "}";
    out += tail;
  }
  out += "|(?:(?:" + group + ":){0,5}" + group + ")?::" + group;
  return out + "|(?:(?:" + group + ":){0,6}" + group + ")?::";
}

// RFC 3986, appendix A; with `extra` characters as in RFC 3987.
std::string uri(bool relative, const std::string& extra) {
  const std::string coded = "|%[0-9A-Fa-f]{2})";
  const std::string base = "A-Za-z0-9._~!$&'()*+,;=" + extra;
  const std::string pchar = "(?:[" + base + ":@-]" + coded;
  const std::string segments = "(?:/" + pchar + "*)*";
  const std::string literal = "\\[(?:" + ipv6() + "|[vV][0-9A-Fa-f]+\\.[A-Za-z0-9._~!$&'()*+,;=:-]+)\\]";
  const std::string authority = "//(?:(?:[" + base + ":-]" + coded + "*@)?(?:" + literal + "|(?:[" + base +
                                "-]" + coded + "*)(?::[0-9]*)?" + segments;
  const std::string absolute = "/(?:" + pchar + "+" + segments + ")?";
  const std::string rootless = pchar + "+" + segments;
  const std::string no_colon = "(?:[" + base + "@-]" + coded + "+" + segments;
  const std::string ends = "(?:\\?(?:" + pchar + "|[/?])*)?(?:#(?:" + pchar + "|[/?])*)?";
  const std::string whole =
      "[A-Za-z][A-Za-z0-9+.-]*:(?:" + authority + "|" + absolute + "|" + rootless + "|)" + ends;
  if (!relative) return whole;
  return whole + "|(?:" + authority + "|" + absolute + "|" + no_colon + "|)" + ends;
}

// RFC 3987's ucschar, as far as the planes reach; private use only in queries, so left out.
std::string iri_extra() {
  std::string out = "\\u00A0-\\uD7FF\\uF900-\\uFDCF\\uFDF0-\\uFFEF";
  for (int plane = 1; plane <= 14; plane++) {
    constexpr const char* kHex = "0123456789ABCDEF";
    const std::string digit(1, kHex[plane]);
    out += "\\u{" + digit + (plane == 14 ? "1000}-\\u{" : "0000}-\\u{") + digit + "FFFD}";
  }
  return out;
}

std::string email() {
  const std::string atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
  const std::string local = "(?:" + atom + "(?:\\." + atom + ")*|\"(?:[ !#-\\[\\]-~]|\\\\[ -~])*\")";
  const std::string domain =
      "(?:" + std::string(kHostname) + "|\\[(?:" + ipv4() + "|[Ii][Pp][vV]6:(?:" + ipv6() + "))\\])";
  return local + "@" + domain;
}

// 23:59:60 in UTC, told by every clock (RFC 3339, section 5.7).
RegexId leap_seconds(RegexArena& arena, RegexId fraction) {
  std::vector<RegexId> hours;
  const auto two = [](int value) { return fmt::format("{:02}", value); };
  for (int hour = 0; hour < 24; hour++) {
    std::vector<RegexId> minutes;
    for (int minute = 0; minute < 60; minute++) {
      const int ahead = (hour * 60 + minute - (23 * 60 + 59) + 1440) % 1440, behind = (1440 - ahead) % 1440;
      std::vector<RegexId> offsets{arena.literal(fmt::format("+{}:{}", two(ahead / 60), two(ahead % 60))),
                                   arena.literal(fmt::format("-{}:{}", two(behind / 60), two(behind % 60)))};
      if (ahead == 0) offsets.push_back(arena.set({{U'Z', U'Z'}, {U'z', U'z'}}));
      minutes.push_back(
          arena.concat(std::array{arena.literal(two(minute) + ":60"), fraction, arena.any_of(offsets)}));
    }
    hours.push_back(arena.concat(std::array{arena.literal(two(hour) + ":"), arena.any_of(minutes)}));
  }
  return arena.any_of(hours);
}

Result<RegexId> parse(RegexArena& arena, const std::string& pattern) {
  return arena.parse(pattern, RegexSyntax::kFull);
}

Result<RegexId> time(RegexArena& arena) {
  const RegexId fraction = TRY(parse(arena, "(?:\\.[0-9]+)?"));
  return arena.any_of(std::array{TRY(parse(arena, kPlainTime)), leap_seconds(arena, fraction)});
}

Result<RegexId> hostname(RegexArena& arena) {
  return arena.all_of(std::array{TRY(parse(arena, kHostname)), TRY(parse(arena, "[A-Za-z0-9.-]{1,253}"))});
}

Result<RegexId> date_time(RegexArena& arena) {
  return arena.concat(
      std::array{TRY(parse(arena, kDate)), arena.set({{U'T', U'T'}, {U't', U't'}}), TRY(time(arena))});
}

Result<std::optional<RegexId>> standard(RegexArena& arena, std::string_view name) {
  if (name == "date") return TRY(parse(arena, kDate));
  if (name == "time") return TRY(time(arena));
  if (name == "date-time") return TRY(date_time(arena));
  if (name == "duration") return TRY(parse(arena, replaced(kDuration, "@", kDurationTime)));
  if (name == "uuid") return TRY(parse(arena, kUuid));
  if (name == "ipv4") return TRY(parse(arena, ipv4()));
  if (name == "ipv6") return TRY(parse(arena, ipv6()));
  if (name == "hostname") return TRY(hostname(arena));
  if (name == "email") return TRY(parse(arena, email()));
  if (name == "uri") return TRY(parse(arena, uri(false, "")));
  if (name == "uri-reference") return TRY(parse(arena, uri(true, "")));
  if (name == "iri") return TRY(parse(arena, uri(false, iri_extra())));
  if (name == "iri-reference") return TRY(parse(arena, uri(true, iri_extra())));
  if (name == "uri-template")
    return TRY(parse(arena, replaced(kUriTemplate, "V", std::string("(?:") + kTemplateVariable + ")")));
  if (name == "json-pointer") return TRY(parse(arena, kJsonPointer));
  if (name == "relative-json-pointer") return TRY(parse(arena, kRelativePointer));
  return std::optional<RegexId>{};
}

}  // namespace

Result<std::optional<RegexId>> format_language(RegexArena& arena, std::string_view name) {
  for (const char* refused : {"idn-email", "idn-hostname", "regex"})
    if (name == refused) return fail("format '{}' is no regular language that Brass knows", name);
  return standard(arena, name);
}

}  // namespace brass::grammar::schema
