#include "text/chat.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "text/chat_marks.h"
#include "text/chat_normalize.h"

namespace brass {

using nlohmann::ordered_json;

namespace {

// One way to write the conversation down, and what came of it.
struct Attempt {
  ordered_json messages, tools;
  std::vector<std::string> notes;
  std::vector<Mark> lost;
  Result<jinja::Rendered> rendered;
  bool renders = false;
};

// Texts that come out whole are shown. Where one does not, the same shape with marks in place of the texts says
// whether the template leaves it out, or only writes it in another way.
Result<Attempt> attempt(const jinja::Template& source, const ChatTraits& traits, const ordered_json& messages,
                        const ordered_json& tools, const ChatOptions& options, Repair repair) {
  Attempt out;
  out.messages = TRY(normalize(messages, traits, repair, out.notes));
  out.tools = normalize_tools(tools, repair);
  NumberedTexts texts = number_texts(out.messages);
  out.rendered = render_messages(source, out.messages, out.tools, options, &texts);
  out.renders = out.rendered.has_value();
  if (!out.renders || texts.all_shown()) return out;
  ordered_json marked = out.messages;
  const std::vector<Mark> marks = put_marks(marked);
  const auto tried = render_messages(source, marked, out.tools, options);
  out.lost = tried ? missing_marks(marks, tried->text) : marks;
  return out;
}

// The least repair with which everything comes out; else the one that loses least.
Result<Attempt> best_repair(const jinja::Template& source, const ChatTraits& traits,
                            const ordered_json& messages, const ordered_json& tools,
                            const ChatOptions& options) {
  Attempt best;
  for (const Repair repair : {Repair::none, Repair::plain_contents, Repair::complete_tools, Repair::merge_all,
                              Repair::calls_as_text, Repair::users_only}) {
    Attempt now = TRY(attempt(source, traits, messages, tools, options, repair));
    const bool complete = now.renders && now.lost.empty();
    const bool better = now.renders && (!best.renders || now.lost.size() < best.lost.size());
    if (repair == Repair::none || better) best = std::move(now);
    if (complete) break;
  }
  return best;
}

// Some templates walk over the tools even where there are none: to them an empty list says the same. Others go round for
// ever over a type of null.
Result<Attempt> best_attempt(const jinja::Template& source, const ChatTraits& traits,
                             const ordered_json& messages, const ordered_json& tools,
                             const ChatOptions& options) {
  Attempt best = TRY(best_repair(source, traits, messages, tools, options));
  if (best.renders) return best;
  const ordered_json others = tools.is_null() ? ordered_json::array() : without_null_types(tools);
  if (others == tools) return best;
  Attempt second = TRY(best_repair(source, traits, messages, others, options));
  if (!second.renders) return best;
  if (!tools.is_null())
    second.notes.push_back(
        "the template fails on types of null: tools are shown as if nothing could be null");
  return second;
}

void warn(const Attempt& used, const ChatTraits& traits, std::vector<std::string>& warnings) {
  warnings.insert(warnings.end(), used.notes.begin(), used.notes.end());
  for (const Mark& mark : used.lost) {
    const ordered_json& role = used.messages[mark.message]["role"];
    warnings.push_back(fmt::format("the template does not show the {} of message {} ({})", mark.part,
                                   mark.message, role.get<std::string>()));
  }
  if (used.tools.is_array() && !used.tools.empty() && !traits.tools) {
    warnings.push_back("the template does not show tools: the model will not know of them");
  }
}

Result<jinja::Rendered> render_with(const jinja::Template& source, const ChatTraits& traits,
                                    const ordered_json& messages, const ordered_json& tools,
                                    const ChatOptions& options) {
  Attempt used = TRY(best_attempt(source, traits, messages, tools, options));
  if (options.warnings != nullptr) warn(used, traits, *options.warnings);
  return std::move(used.rendered);
}

Result<> check_tools(const ordered_json& tools) {
  if (tools.is_null()) return {};
  if (!tools.is_array()) return fail("tools must be a list, not {}", tools.type_name());
  for (size_t i = 0; i < tools.size(); i++)
    if (!tools[i].is_object()) return fail("tools[{}] must be an object, not {}", i, tools[i].type_name());
  return {};
}

}  // namespace

Result<std::unique_ptr<ChatTemplate>> ChatTemplate::load(std::string_view source) {
  auto parsed = TRY(jinja::Template::parse(source));
  auto out = std::unique_ptr<ChatTemplate>(new ChatTemplate(std::move(parsed)));
  out->traits_ = probe(*out->template_);
  return out;
}

Result<jinja::Rendered> ChatTemplate::render(const ordered_json& messages, const ordered_json& tools,
                                             const ChatOptions& options) const {
  if (!options.normalize) return render_messages(*template_, messages, tools, options);
  TRY(check_tools(tools));
  return render_with(*template_, traits_, messages, tools, options);
}

Result<jinja::Rendered> render_chat(const jinja::Template& source, const ordered_json& messages,
                                    const ordered_json& tools, const ChatOptions& options) {
  if (!options.normalize) return render_messages(source, messages, tools, options);
  TRY(check_tools(tools));
  return render_with(source, probe(source), messages, tools, options);
}

}  // namespace brass
