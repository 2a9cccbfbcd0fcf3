#include "text/calls/call_grammar.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "text/calls/call_writer.h"
#include "text/calls/mark_nodes.h"
#include "text/calls/value.h"
#include "text/tokenizer.h"

namespace brass::calls {

using grammar::NodeId;
using grammar::RegexArena;
using grammar::RegexId;

namespace {

// Marks that begin the inside of a call are good enough to begin it (as in the parser).
bool begins_inside(const CallFormat& format) {
  return format.shape == Shape::kHeader && !format.id_first && format.name_begin.size() >= 6 &&
         format.name_begin[0] == '<';
}

class Builder {
 public:
  Builder(const CallFormat& format, const ToolSet& tools, const CallGrammarOptions& options)
      : format_(format),
        tools_(tools),
        options_(options),
        grammar_(std::make_shared<grammar::Grammar>()),
        marks_(*grammar_, options_.controls),
        writer_(*grammar_, marks_, format_, tools_, options_) {}

  Result<CallGrammar> run() {
    for (const auto& [name, unused] : tools_.all())
      if (options_.choice != ToolChoice::kNamed || name == options_.name) names_.push_back(name);
    if (names_.empty() && options_.choice == ToolChoice::kNamed)
      return wrong_use("tool '{}': there is no such tool", options_.name);
    if (names_.empty()) return wrong_use("tools: there are none to call");
    if (format_.shape == Shape::kNone) return wrong_use("tools: the model's chat template knows of no calls");
    std::vector<NodeId> ways = TRY(forms());
    NodeId root = grammar_->choice(std::move(ways));
    const bool at_once = format_.starts_named;  // the reply's first byte is the name's
    if (options_.choice != ToolChoice::kAuto && !at_once) root = grammar_->sequence({marks_.gap(), root});
    TRY_VOID(within("tools", grammar_->freeze(root)));
    return CallGrammar{grammar_,
                       options_.choice == ToolChoice::kAuto ? triggers() : std::vector<std::string>{}};
  }

 private:
  bool lazy() const { return options_.choice == ToolChoice::kAuto; }

  // The ways in which a reply may have calls: as templates write them, and, where the reply may begin with any mark that
  // the parser knows, without what should be around them.
  Result<std::vector<NodeId>> forms() {
    std::vector<NodeId> ways;
    if (format_.channels == Channels::kHarmony) return std::vector{TRY(harmony())};
    if (format_.starts_named) return named();
    if (format_.bare) ways.push_back(TRY(bare()));
    if (!format_.section_begin.empty()) ways.push_back(TRY(section()));
    const bool loose = lazy() || format_.section_begin.empty();
    if (!format_.call_begin.empty() && loose) ways.push_back(TRY(marked_calls()));
    if (begins_inside(format_) && lazy()) ways.push_back(TRY(unmarked_calls()));
    if (ways.empty()) return wrong_use("tools: calls in the format of {} begin with no mark", format_.family);
    return ways;
  }

  // One call of any of the tools.
  template <class Make>
  Result<NodeId> any_tool(const Make& make) {
    std::vector<NodeId> ways;
    for (const std::string& name : names_) ways.push_back(TRY(make(name)));
    return grammar_->choice(std::move(ways));
  }

  Result<NodeId> inside(bool in_section, bool marked) {
    return any_tool([&](const std::string& name) { return writer_.call(name, in_section, marked); });
  }

  NodeId several(NodeId call, NodeId separator) {
    return grammar_->repeat(call, 1, options_.parallel ? -1 : 1, separator);
  }

  // Between two calls: what a template writes there where it is more than blanks, or where blanks alone tell them apart.
  NodeId separator(bool needed) {
    const std::string_view written = trimmed(format_.separator);
    if (!written.empty()) return grammar_->sequence({marks_.gap(), grammar_->text(written), marks_.gap()});
    if (!needed || format_.separator.empty()) return marks_.gap();
    return grammar_->sequence({grammar_->text(format_.separator), marks_.gap()});
  }

  // [a, b]
  NodeId list(NodeId call) {
    const NodeId comma = grammar_->sequence({marks_.gap(), grammar_->text(","), marks_.gap()});
    return grammar_->sequence(
        {grammar_->text("["), marks_.gap(), several(call, comma), marks_.gap(), grammar_->text("]")});
  }

  Result<NodeId> section() {
    std::vector<NodeId> parts = {marks_.beginning(format_.section_begin), marks_.gap()};
    const bool one_each = !format_.list && format_.section_end.empty() && format_.call_begin.empty();
    if (format_.list) {
      parts.push_back(list(TRY(inside(true, true))));
    } else {
      std::vector<NodeId> call;
      if (!format_.call_begin.empty()) call = {marks_.mark(format_.call_begin), marks_.gap()};
      call.push_back(TRY(inside(true, true)));
      marks_.add(call, format_.call_end);
      const NodeId one = grammar_->sequence(std::move(call));
      parts.push_back(one_each ? one : several(one, separator(format_.call_begin.empty())));
    }
    marks_.add(parts, format_.section_end);
    const NodeId all = grammar_->sequence(std::move(parts));
    return one_each ? several(all, marks_.gap()) : all;
  }

  // Calls with marks of their own, and nothing around them all.
  Result<NodeId> marked_calls() {
    std::vector<NodeId> ways = {TRY(inside(false, true))};
    if (format_.objects_too)
      ways.push_back(list(TRY(any_tool([&](const std::string& name) { return writer_.object(name); }))));
    const NodeId inner = grammar_->choice(std::move(ways));
    std::vector<NodeId> parts = {marks_.beginning(format_.call_begin)};
    if (format_.shape != Shape::kHeader) parts.push_back(marks_.gap());
    parts.push_back(inner);
    marks_.add(parts, format_.call_end);
    // Between calls that begin with marks only blanks are read over.
    return several(grammar_->sequence(std::move(parts)), marks_.gap());
  }

  Result<NodeId> unmarked_calls() {
    const NodeId begin = marks_.beginning(format_.name_begin), call = TRY(inside(false, false));
    std::vector<NodeId> parts = {begin, call};
    // Parameters have an end in any case.
    if (format_.coding == Coding::kParameters && format_.arguments_end.empty())
      marks_.add(parts, format_.call_end);
    return several(grammar_->sequence(std::move(parts)), marks_.gap());
  }

  Result<NodeId> bare() {
    if (format_.shape == Shape::kPython) return list(TRY(inside(false, true)));
    const NodeId call = TRY(any_tool([&](const std::string& name) { return writer_.object(name); }));
    return format_.list ? list(call) : several(call, separator(true));
  }

  // The prompt ends in what would stand before a name.
  Result<std::vector<NodeId>> named() {
    const NodeId call = TRY(inside(false, true));
    const bool more = options_.parallel && !format_.call_begin.empty();
    const NodeId next = format_.call_begin.empty()
                            ? -1
                            : grammar_->sequence({marks_.gap(), marks_.beginning(format_.call_begin), call});
    NodeId calls = call;
    if (more) calls = grammar_->sequence({call, grammar_->repeat(next, 0, -1)});
    std::vector<NodeId> ways = {calls};
    if (lazy()) ways.push_back(format_.content_name.empty() ? text_alone() : text_and(next));
    return ways;
  }

  // Text that does not begin as a call does.
  NodeId text_alone() {
    RegexArena& arena = grammar_->regexes();
    std::vector<RegexId> names;
    for (const std::string& name : names_) names.push_back(arena.literal(format_.name_prefix + name));
    const RegexId call = arena.any_of(names);
    const RegexId end = marks_.pattern(" " + format_.name_end + " {");
    const std::vector<RegexId> parts = {call, end, arena.all()};
    return grammar_->terminal(arena.negate(arena.concat(parts)));
  }

  // The name that stands for text to the user, the text, and calls behind it.
  NodeId text_and(NodeId next) {
    const NodeId text = grammar_->terminal(marks_.texts_without(format_.call_begin));
    const NodeId calls = grammar_->repeat(next, 0, options_.parallel ? -1 : 1);
    return grammar_->sequence({grammar_->text(format_.content_name + "\n"), text, calls});
  }

  // <|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{…}, or the recipient before the channel.
  Result<NodeId> harmony() {
    const NodeId message = marks_.mark("<|message|>"), channel = marks_.mark("<|channel|>");
    const NodeId constrain = marks_.mark("<|constrain|>");
    const NodeId nothing = grammar_->sequence({}), blank = grammar_->text(" "), json = grammar_->text("json");
    const NodeId commentary = grammar_->sequence({channel, grammar_->text("commentary")});
    const NodeId maybe_constrain = grammar_->choice({constrain, nothing});
    const NodeId apart = grammar_->sequence({blank, maybe_constrain, json, message});
    const NodeId joined = grammar_->sequence({constrain, json, message});
    const NodeId header_end = grammar_->choice({apart, joined, message});
    const NodeId behind_name = grammar_->choice({header_end, grammar_->sequence({commentary, header_end})});
    const NodeId to = grammar_->text("to=");
    const NodeId call = TRY(any_tool([&](const std::string& name) -> Result<NodeId> {
      const NodeId written = TRY(writer_.name(name)), inside = TRY(writer_.arguments(name));
      return grammar_->sequence({to, written, behind_name, inside});
    }));
    // What ends the call ends the reply.
    if (lazy()) return call;
    const NodeId start = grammar_->sequence({marks_.mark("<|start|>"), grammar_->text("assistant")});
    const NodeId maybe_start = grammar_->choice({start, nothing});
    const NodeId maybe_channel = grammar_->choice({commentary, nothing});
    return grammar_->sequence({maybe_start, maybe_channel, blank, call});
  }

  std::vector<std::string> triggers() const {
    std::set<std::string> out;
    if (format_.starts_named) return {};
    if (format_.channels == Channels::kHarmony) return {"to=" + format_.name_prefix};
    for (const std::string& mark : {format_.section_begin, format_.call_begin})
      if (!mark.empty()) out.insert(mark);
    if (begins_inside(format_)) out.insert(format_.name_begin);
    if (format_.bare) {
      for (const std::string& name : names_) {
        if (format_.shape == Shape::kPython) {
          out.insert("[" + format_.name_prefix + name + "(");
          continue;
        }
        for (const char* blank : {"", " "}) {
          const std::string colon = std::string(":") + blank;
          const std::string member = quoted_json(format_.name_key) + colon + quoted_json(name);
          const std::string begin = format_.list ? "[{" : "{";
          out.insert(begin + member);
          out.insert(begin + "\"type\"" + colon + "\"function\"," + blank + member);
        }
      }
    }
    return {out.begin(), out.end()};
  }

  const CallFormat& format_;
  const ToolSet& tools_;
  const CallGrammarOptions options_;
  std::shared_ptr<grammar::Grammar> grammar_;
  MarkNodes marks_;
  CallWriter writer_;
  std::vector<std::string> names_;
};

}  // namespace

Result<CallGrammar> call_grammar(const CallFormat& format, const ToolSet& tools,
                                 const CallGrammarOptions& options) {
  return Builder(format, tools, options).run();
}

std::vector<std::string> control_pieces(const CallFormat& format, const Tokenizer& tokenizer) {
  std::vector<std::string> marks = {format.section_begin,
                                    format.section_end,
                                    format.call_begin,
                                    format.call_end,
                                    format.name_begin,
                                    format.name_end,
                                    format.arguments_end,
                                    format.id_begin,
                                    format.parameter.begin,
                                    format.parameter.name_end,
                                    format.parameter.end,
                                    format.parameter.string_name_end,
                                    format.parameter.value_name_end,
                                    format.quote};
  if (format.channels == Channels::kHarmony)
    for (const char* mark : {"<|start|>", "<|channel|>", "<|message|>", "<|constrain|>"})
      marks.emplace_back(mark);
  std::set<std::string> out;
  const EncodeOptions options{.parse_special = true, .add_bos = false, .add_eos = false, .normalize = false};
  for (const std::string& mark : marks)
    for (const int32_t id : tokenizer.encode(mark, options))
      if (tokenizer.is_control(id) && !tokenizer.is_eog(id) && !tokenizer.piece(id).empty())
        out.insert(std::string(tokenizer.piece(id)));
  return {out.begin(), out.end()};
}

}  // namespace brass::calls
