#include "text/calls/detect.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "text/calls/derive.h"
#include "text/calls/parser.h"

namespace brass::calls {

using nlohmann::ordered_json;

namespace {

constexpr size_t kNone = std::string::npos;
constexpr const char* kUser = "qusertextq";
constexpr const char* kContent = "qcontenttextq";

MarkedCall first_mark() { return {"qfirstnameq", "qa1b2c3d4", "qfirstkeyq", "qfirstvalueq"}; }
MarkedCall second_mark() { return {"qothernameq", "qe5f6g7h8", "qotherkeyq", "qothervalueq"}; }

ordered_json tool(const std::string& name) {
  ordered_json properties = ordered_json::object();
  for (const MarkedCall& mark : {first_mark(), second_mark()})
    properties[mark.key] = {{"type", "string"}, {"description", "A text."}};
  const ordered_json parameters = {
      {"type", "object"}, {"properties", properties}, {"required", ordered_json::array()}};
  return {{"type", "function"},
          {"function", {{"name", name}, {"description", "A tool."}, {"parameters", parameters}}}};
}
ordered_json probe_tools() {
  return ordered_json::array({tool(first_mark().name), tool(second_mark().name)});
}

ordered_json call_of(const MarkedCall& mark, ordered_json arguments) {
  return {{"id", mark.id},
          {"type", "function"},
          {"function", {{"name", mark.name}, {"arguments", std::move(arguments)}}}};
}

ordered_json assistant(std::vector<ordered_json> calls) {
  return {{"role", "assistant"}, {"content", ""}, {"tool_calls", std::move(calls)}};
}

// Whether `at` is inside a mark that the text began before and does not end before.
bool inside_tag(std::string_view text, size_t at) {
  const size_t open = text.substr(0, at).find_last_of("<[");
  if (open == kNone) return false;
  const size_t close = text.find_first_of(">]", open);
  return close != kNone && close >= at && text.substr(open, close - open).find('\n') == kNone;
}

class Finder {
 public:
  Finder(const ChatTemplate& source, const ChatOptions& options)
      : source_(source), options_(options), tools_(probe_tools()) {
    options_.warnings = nullptr;
    if (!options_.clock) options_.clock = 0;
    fence_ = find_fence();
  }

  ReplyForm run() {
    ReplyForm form = format();
    if (form.format.reasoning.end.empty()) form.format.reasoning = fence_;
    if (form.format.dropped.empty() && form.format.channels == Channels::kNone) find_dropped(form.format);
    if (form.format.turn_ends.empty()) form.format.turn_ends = turn_ends(form.format);
    if (form.format.channels != Channels::kHarmony)
      form.in_reasoning = ends_in_reasoning(form.format.reasoning, prompt_tail());
    return form;
  }

 private:
  struct Sample {
    std::string text;
    std::vector<ParsedCall> calls;
  };

  bool mentions(std::string_view text) const { return source_.source().source().find(text) != kNone; }

  std::optional<std::string> turn(const ordered_json& message) const {
    const ordered_json before = ordered_json::array({{{"role", "user"}, {"content", kUser}}});
    return render_turn(source_, before, message, tools_, options_);
  }

  std::string prompt_tail() const {
    const ordered_json messages = ordered_json::array({{{"role", "user"}, {"content", kUser}}});
    ChatOptions options = options_;
    options.add_generation_prompt = true;
    const auto rendered = source_.render(messages, nullptr, options);
    if (!rendered) return {};
    const size_t user = rendered->text.rfind(kUser);
    return user == kNone ? rendered->text : rendered->text.substr(user);
  }

  // A fence that the template speaks of, unless it shows another one.
  Fence find_fence() const {
    const Fence shown = rendered_fence();
    for (const Fence& known : known_fences()) {
      const bool other = !shown.end.empty() && shown.end.find(known.end) == kNone;
      if (!other && (mentions(known.begin) || mentions(known.end))) return known;
    }
    return shown;
  }

  // What stands around marked reasoning.
  Fence rendered_fence() const {
    constexpr const char* kReasoning = "qreasoningtextq";
    ordered_json message = {{"role", "assistant"}, {"content", kContent}};
    for (const char* field : {"reasoning_content", "reasoning", "thinking"}) message[field] = kReasoning;
    const auto text = turn(message);
    if (!text) return {};
    const size_t reasoning = text->find(kReasoning), content = text->find(kContent);
    if (reasoning == kNone || content == kNone || content < reasoning) return {};
    const size_t end = reasoning + std::string_view(kReasoning).size();
    std::string begin(trimmed(std::string_view(*text).substr(0, reasoning)));
    const std::string close(trimmed(std::string_view(*text).substr(end, content - end)));
    if (begin.empty()) begin = begun_by_prompt(close);
    if (begin.empty() || close.empty()) return {};
    return {begin, close};
  }

  // The mark that the prompt ends in, or has closed at once.
  std::string begun_by_prompt(std::string_view close) const {
    const std::string prompt = prompt_tail();
    std::string_view tail = trimmed(prompt);
    if (!close.empty() && tail.ends_with(close)) tail.remove_suffix(close.size());
    return last_mark(tail);
  }

  // The mark that the text ends in.
  static std::string last_mark(std::string_view text) {
    text = trimmed(text);
    const size_t open = text.find_last_of("<[");
    if (open == kNone || (text.back() != '>' && text.back() != ']')) return {};
    return std::string(text.substr(open));
  }

  // Marks around an answer: <response>…</response>.
  void find_dropped(CallFormat& format) const {
    const auto said = turn({{"role", "assistant"}, {"content", kContent}});
    const size_t at = said ? said->find(kContent) : kNone;
    if (at == kNone) return;
    std::string_view before = trimmed(std::string_view(*said).substr(0, at));
    for (const std::string& mark : {format.reasoning.begin, format.reasoning.end})
      if (const size_t found = before.rfind(mark); !mark.empty() && found != kNone)
        before = trimmed(before.substr(found + mark.size()));
    const std::string_view behind =
        trimmed(std::string_view(*said).substr(at + std::string_view(kContent).size()));
    const size_t close = behind.find('>');
    if (before.size() < 3 || before[0] != '<' || before.back() != '>' || before.find('<', 1) != kNone) return;
    if (behind.empty() || behind[0] != '<' || close == kNone) return;
    format.dropped = {std::string(before), std::string(behind.substr(0, close + 1))};
  }

  // What the template writes behind an answer, and behind calls.
  std::vector<std::string> turn_ends(const CallFormat& format) const {
    std::vector<std::string> out;
    const auto add = [&](std::string_view text) {
      const std::string end(trimmed(text));
      const bool known = std::find(out.begin(), out.end(), end) != out.end();
      if (!end.empty() && end.size() <= 256 && !known) out.push_back(end);
    };
    std::string_view end;
    const auto said = turn({{"role", "assistant"}, {"content", kContent}});
    if (said && said->rfind(kContent) != kNone) {
      end = std::string_view(*said).substr(said->rfind(kContent) + std::string_view(kContent).size());
      for (const std::string& dropped : format.dropped)
        if (trimmed(end).starts_with(dropped)) end = trimmed(end).substr(dropped.size());
      add(end);
    }
    for (const Sample& sample : samples_) {
      const ParsedMessage parsed = parse_reply(format, ToolSet(tools_), {}, sample.text);
      if (parsed.calls.size() == sample.calls.size()) add(parsed.content);
    }
    return out;
  }

  // What reads the calls and leaves nothing of their marks as text is better than what reads the calls.
  ReplyForm format() {
    if (source_.traits().tool_calls) take_samples();
    const auto derived = derive();
    for (const Left left : {Left::kNothing, Left::kText}) {
      for (const Row& row : table())
        if (hinted(row) && !samples_.empty() && reads_back(row.format, left))
          return {row.format, Found::kTable, false};
      if (derived && reads_back(*derived, left)) return {*derived, Found::kTemplate, false};
      if (!samples_.empty() && reads_back(hermes(), left)) return {hermes(), Found::kTable, false};
    }
    // Templates that leave quotes or commas out of Python's calls show how their models call all the same.
    if (derived && derived->shape == Shape::kPython) return {*derived, Found::kTemplate, false};
    for (const Row& row : table())
      if (hinted(row)) return {row.format, Found::kNamed, false};
    return {hermes(), Found::kDefault, false};
  }

  bool hinted(const Row& row) const {
    return std::any_of(row.hints.begin(), row.hints.end(),
                       [&](const std::string& hint) { return mentions(hint); });
  }

  void sample(const std::vector<std::pair<MarkedCall, ordered_json>>& calls) {
    std::vector<ordered_json> written;
    Sample out;
    for (const auto& [mark, arguments] : calls) {
      written.push_back(call_of(mark, arguments));
      out.calls.push_back({mark.id, mark.name, arguments.dump()});
    }
    const auto text = turn(assistant(std::move(written)));
    if (!text) return;
    // A template that leaves a call out (the second of two) is no example of how it is written.
    for (const auto& [mark, arguments] : calls)
      if (text->find(mark.name) == kNone) return;
    out.text = *text;
    samples_.push_back(std::move(out));
  }

  void take_samples() {
    const MarkedCall a = first_mark(), b = second_mark();
    sample({{a, {{a.key, a.value}}}});
    if (source_.traits().parallel_calls) sample({{a, {{a.key, a.value}}}, {b, {{b.key, b.value}}}});
    sample({{a, {{a.key, a.value + " \"x\" it's"}, {b.key, "two\nlines\n"}}}});
  }

  // What of the samples may be text in front of a call.
  enum class Left { kNothing, kText };

  bool reads_back(const CallFormat& format, Left left) const {
    const ToolSet tools(tools_);
    for (const Sample& sample : samples_) {
      CallParser parser(format, tools, {});
      std::string before = text_before_calls(parser.feed(sample.text));
      parser.finish();
      const ParsedMessage& parsed = parser.message();
      if (left == Left::kNothing && !is_fence(before)) return false;
      if (parsed.calls.size() != sample.calls.size()) return false;
      for (size_t i = 0; i < parsed.calls.size(); i++) {
        const ParsedCall &got = parsed.calls[i], &wanted = sample.calls[i];
        if (got.name != wanted.name) return false;
        if (nlohmann::json::parse(got.arguments, nullptr, false) != nlohmann::json::parse(wanted.arguments))
          return false;
      }
    }
    return true;
  }

  static std::string text_before_calls(const std::vector<Delta>& deltas) {
    std::string out, text;
    for (const Delta& delta : deltas) {
      if (delta.kind == Delta::Kind::kContent) text += delta.text;
      if (delta.kind == Delta::Kind::kCallBegin) out = text;
    }
    return out;
  }

  // Nothing, or marks of reasoning with none between.
  bool is_fence(std::string text) const {
    const Fence& known = fence_;
    for (const std::string& mark : {known.begin, known.end})
      if (const size_t at = text.find(mark); !mark.empty() && at != kNone) text.erase(at, mark.size());
    return trimmed(text).empty();
  }

  std::optional<CallFormat> derive() const {
    if (samples_.empty()) return std::nullopt;
    MarkedTurns turns{first_mark(), second_mark(), samples_[0].text, {}, {}, {}};
    const MarkedCall &a = turns.first, &b = turns.second;
    if (source_.traits().parallel_calls && samples_.size() > 1 && samples_[1].calls.size() == 2)
      turns.two = samples_[1].text;
    const auto pair = turn(assistant({call_of(a, {{a.key, a.value}, {b.key, b.value}})}));
    if (pair) turns.pair = *pair;
    const auto list = turn(assistant({call_of(a, {{a.key, ordered_json::array({b.value})}})}));
    if (list) turns.list = *list;
    const auto number = turn(assistant({call_of(a, {{a.key, std::stoi(kMarkedNumber)}})}));
    if (number) turns.number = *number;
    const auto said = turn({{"role", "assistant"}, {"content", kContent}});
    if (said && said->rfind(kContent) != kNone)
      turns.end = said->substr(said->rfind(kContent) + std::string_view(kContent).size());
    if (samples_[0].text.find(a.id) == kNone) turns.first.id.clear();
    auto format = derive_format(turns);
    if (format && !format->section_begin.empty()) {
      // Reasoning that the template writes before every call is not part of the call.
      const Fence& known = fence_;
      for (const std::string& mark : {known.end, known.begin}) {
        const size_t at = mark.empty() ? kNone : format->section_begin.find(mark);
        if (at != kNone)
          format->section_begin = std::string(trimmed(format->section_begin.substr(at + mark.size())));
      }
    }
    return format;
  }

  const ChatTemplate& source_;
  ChatOptions options_;
  ordered_json tools_;
  Fence fence_;
  std::vector<Sample> samples_;
};

}  // namespace

bool ends_in_reasoning(const Fence& fence, std::string_view prompt) {
  if (fence.begin.empty()) return false;
  const size_t begin = prompt.rfind(fence.begin), end = prompt.rfind(fence.end);
  return begin != kNone && (end == kNone || end < begin);
}

std::optional<std::string> render_turn(const ChatTemplate& source, const ordered_json& before,
                                       const ordered_json& message, const ordered_json& tools,
                                       const ChatOptions& options) {
  ChatOptions now = options;
  now.add_generation_prompt = true;
  const auto prompt = source.render(before, tools, now);
  ordered_json messages = before;
  messages.push_back(message);
  now.add_generation_prompt = false;
  const auto rendered = source.render(messages, tools, now);
  if (!prompt || !rendered) return std::nullopt;
  const std::string &a = prompt->text, &b = rendered->text;
  size_t common = 0;
  while (common < a.size() && common < b.size() && a[common] == b[common]) common++;
  // A prompt that goes on otherwise (into reasoning) may share the beginning of a mark with the turn.
  if (common < a.size())
    while (common > 0 && inside_tag(b, common)) common--;
  return b.substr(common);
}

ReplyForm find_format(const ChatTemplate& source, const ChatOptions& options) {
  return Finder(source, options).run();
}

}  // namespace brass::calls
