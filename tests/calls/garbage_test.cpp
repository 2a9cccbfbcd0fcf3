// Any text, in any format: nothing is lost, nothing breaks, the cuts do not matter; cut calls are no calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/rng.h"
#include "calls/streamed.h"
#include "text/calls/marks.h"
#include "text/calls/parser.h"

namespace brass::calls {
namespace {

std::vector<CallFormat> formats() {
  std::vector<CallFormat> out;
  for (const Row& row : table()) {
    out.push_back(row.format);
    out.back().reasoning = {"<think>", "</think>"};
    out.back().turn_ends = {"<|im_end|>"};
  }
  return out;
}

std::vector<std::string> pieces_of(const CallFormat& format) {
  std::vector<std::string> out = {"{",
                                  "}",
                                  "[",
                                  "]",
                                  "\"",
                                  "'",
                                  ",",
                                  ":",
                                  "(",
                                  ")",
                                  "=",
                                  "\n",
                                  " ",
                                  "\\",
                                  "name",
                                  "\"name\": \"f\"",
                                  "\"arguments\": {}",
                                  "f",
                                  "\"a\": 1",
                                  "<think>",
                                  "</think>",
                                  "text",
                                  "é",
                                  "｜",
                                  "<",
                                  ">",
                                  ">\n",
                                  "<|im_end|>",
                                  "f(a=1)",
                                  "\xff",
                                  "<|message|>",
                                  "<|channel|>",
                                  "<|start|>",
                                  "<|end|>",
                                  " to=f",
                                  "analysis",
                                  "all\n",
                                  "function",
                                  "call:"};
  for (const std::string& mark :
       {format.section_begin, format.section_end, format.call_begin, format.call_end, format.name_begin,
        format.name_end, format.arguments_end, format.id_begin, format.parameter.begin, format.parameter.end,
        format.parameter.name_end, format.quote}) {
    if (mark.empty()) continue;
    for (int i = 0; i < 4; i++) out.push_back(mark);
    out.push_back(mark.substr(0, mark.size() / 2));
  }
  return out;
}

std::string sample(const CallFormat& format);

// All letters and digits of the message; a call's come from its text, though not in order.
std::string letters(std::string_view text) {
  std::string out;
  for (const char c : text)
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) out += c;
  std::sort(out.begin(), out.end());
  return out;
}

TEST(Garbage, NothingIsLostAndCutsDoNotMatter) {
  Rng rng(11);
  size_t calls = 0;
  for (const CallFormat& format : formats()) {
    std::vector<std::string> pieces = pieces_of(format);
    pieces.push_back(sample(format));
    for (int round = 0; round < 400; round++) {
      std::string text;
      for (uint64_t i = 0, n = 1 + rng.below(40); i < n; i++) text += pieces[rng.below(pieces.size())];
      const ParserOptions options{rng.below(2) == 0, 0};
      const ParsedMessage whole = parse_reply(format, {}, options, text);
      calls += whole.calls.size();
      std::vector<size_t> cuts;
      for (size_t i = 1; i < text.size(); i++) cuts.push_back(i);
      const ParsedMessage cut = stream(format, {}, options, text, cuts);
      ASSERT_EQ(text_of(whole), text_of(cut)) << format.family << ": " << text;
      if (!whole.calls.empty() || format.channels != Channels::kNone) continue;
      // Without a call, only marks go away.
      std::string rest = whole.content + whole.reasoning, all = text;
      for (const std::string& mark :
           {format.reasoning.begin, format.reasoning.end, std::string("<|im_end|>")})
        for (size_t at; (at = rest.find(mark)) != std::string::npos;) rest.erase(at, mark.size());
      std::vector<std::string> dropped = format.dropped;
      dropped.insert(dropped.end(), {format.reasoning.begin, format.reasoning.end, "<|im_end|>"});
      if (!format.content_name.empty()) continue;  // ">>>all" is a mark in two parts
      for (const std::string& mark : dropped)
        for (size_t at; (at = all.find(mark)) != std::string::npos;) all.erase(at, mark.size());
      for (const std::string& mark : dropped)
        for (size_t at; (at = rest.find(mark)) != std::string::npos;) rest.erase(at, mark.size());
      ASSERT_EQ(letters(rest), letters(all)) << format.family << ": " << text;
    }
  }
  EXPECT_GT(calls, 100u) << "the garbage is too wild to hold calls";
}

// A call that works, in each format.
std::string sample(const CallFormat& format) {
  const std::string object = format.name_is_key ? "{\"f\": {\"a\": \"b\"}}"
                                                : "{\"" + format.name_key + "\": \"f\", \"" +
                                                      format.arguments_key + "\": {\"a\": \"b\"}}";
  const auto wrap = [&](const std::string& inner) {
    const std::string one = format.call_begin + inner + format.call_end;
    const std::string list = format.list ? "[" + one + "]" : one;
    return format.section_begin + list + format.section_end;
  };
  if (format.channels == Channels::kHarmony)
    return "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"a\": \"b\"}";
  switch (format.shape) {
    case Shape::kObject:
      return wrap(object);
    case Shape::kPython:
      return wrap("f(a=\"b\")");
    default:
      break;
  }
  if (format.coding == Coding::kParameters) {
    const ParameterMarks& marks = format.parameter;
    std::string name_end = format.name_end;
    std::replace(name_end.begin(), name_end.end(), kAnyWord, '1');
    return wrap(format.name_begin + "f" + name_end + marks.begin + "a" + marks.name_end +
                marks.string_name_end + "b" + marks.end + format.arguments_end);
  }
  const std::string quote = format.quote.empty() ? "\"" : format.quote,
                    key = format.quote.empty() ? "\"a\"" : "a";
  const std::string name = format.starts_named ? "f\n" : format.name_begin + "f" + format.name_end;
  return wrap(name + "{" + key + ": " + quote + "b" + quote + "}" + format.arguments_end);
}

TEST(Garbage, CutCallsAreText) {
  for (const CallFormat& format : formats()) {
    const std::string text = sample(format);
    const ParsedMessage whole = parse_reply(format, {}, {}, text);
    ASSERT_EQ(whole.calls.size(), 1u) << format.family << ": " << text;
    EXPECT_EQ(whole.calls[0].name, "f") << format.family;
    EXPECT_EQ(nlohmann::json::parse(whole.calls[0].arguments), nlohmann::json::parse(R"({"a": "b"})"))
        << format.family;
    EXPECT_EQ(whole.content, "") << format.family;
    const size_t end = text.find('b', text.find("f")) + 1;
    for (size_t cut = 0; cut < text.size(); cut++) {
      const ParsedMessage part = parse_reply(format, {}, {}, text.substr(0, cut));
      if (part.calls.empty()) {
        if (format.channels == Channels::kNone && format.dropped.empty()) {
          EXPECT_EQ(part.content, text.substr(0, cut)) << format.family;
        }
        continue;
      }
      // Complete only with all of its arguments, where what closes it outside is not there yet.
      EXPECT_GT(cut, end) << format.family << ": " << text.substr(0, cut);
      EXPECT_EQ(part.calls[0].arguments, whole.calls[0].arguments) << format.family;
    }
  }
}

TEST(Garbage, HostileTextsTakeLinearTime) {
  const auto start = std::chrono::steady_clock::now();
  for (const CallFormat& format : formats()) {
    for (std::string piece :
         {format.section_begin + format.call_begin, format.call_begin + "{\"a\": \"", std::string("<think>"),
          format.call_begin + format.name_begin + "f" + format.name_end + format.parameter.begin,
          format.parameter.end + "\n", std::string("{\"name\": "), std::string("[[[["), std::string("\n"),
          format.section_begin + "[" + format.call_begin + "{'a': \""}) {
      if (piece.empty()) piece = "x";
      std::string text = format.section_begin + format.call_begin + format.name_begin;
      while (text.size() < 20'000) text += piece;
      const ParsedMessage got = parse_reply(format, {}, {}, text);
      EXPECT_TRUE(got.calls.size() < 20'000);
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%.2f s\n", seconds);
  EXPECT_LT(seconds, 60.0);
}

}  // namespace
}  // namespace brass::calls
