#include "app/chat_session.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "app/session.h"
#include "report/format.h"
#include "report/rates.h"

namespace brass::app {

using Json = nlohmann::ordered_json;

struct ChatSession::Messages {
  Json list = Json::array();
  Json tools;  // null: none
  calls::ToolSet set;
};

namespace {

// Models for embeddings have no words, or none that mean anything.
Result<> check_talks(const Model& model) {
  TRY_VOID(need_decoding(model, "brass run"));
  const std::optional<Pooling> pooling = model.info.pooling;
  if (pooling && *pooling != Pooling::kNone)
    return fail_hint("brass embed MODEL TEXT makes embeddings",
                     "{}: is made for embeddings ({}.pooling_type is {}), not for text", model.file->path(),
                     model.info.architecture, static_cast<int>(*pooling));
  return {};
}

}  // namespace

ChatSession::ChatSession(const RunFlags& flags) : flags_(flags), messages_(std::make_unique<Messages>()) {}
ChatSession::~ChatSession() = default;

Result<std::unique_ptr<ChatSession>> ChatSession::open(const RunFlags& flags) {
  std::unique_ptr<ChatSession> session(new ChatSession(flags));
  // Before the model is loaded, which takes longer than finding a mistake.
  const std::shared_ptr<const grammar::Grammar> grammar = TRY(read_grammar(flags.grammar));
  if (flags.tools.any()) {
    session->messages_->tools = TRY(read_tools(flags.tools));
    session->messages_->set = calls::ToolSet(session->messages_->tools);
  }
  std::unique_ptr<Model> loaded = TRY(load_model(TRY(find_model(flags.model))));
  TRY_VOID(check_talks(*loaded));
  session->engine_ = TRY(open_engine(flags.model, std::move(loaded), {}));
  const Model& model = session->engine_->model();
  session->tokenizer_ = TRY(open_tokenizer(model));
  if (session->tokenizer_ == nullptr && flags.ids.empty())
    return fail_hint("give token ids with --ids", "{}: the file has no vocabulary, so it cannot read text",
                     model.file->path());
  if (!flags.raw && flags.ids.empty()) {
    if (model.vocab.chat_template.empty())
      return fail_hint("--raw continues the prompt as it is", "{}: the file has no chat template",
                       model.file->path());
    session->template_ = TRY(within(model.file->path(), ChatTemplate::load(model.vocab.chat_template)));
  }
  TRY_VOID(session->prepare_constraint(grammar));
  session->sequence_ = TRY(session->engine_->create_sequence());
  session->clear();
  return session;
}

// What every reply is held to: the grammar of the flags, or that of calls.
Result<> ChatSession::prepare_constraint(std::shared_ptr<const grammar::Grammar> grammar) {
  if (grammar == nullptr && !flags_.tools.any()) return {};
  const Model& model = engine_->model();
  if (tokenizer_ == nullptr)
    return fail("{}: the file has no vocabulary, so no grammar can be enforced", model.file->path());
  if (template_ != nullptr) form_ = calls::find_format(*template_, chat_options(model.vocab));
  if (flags_.tools.any()) {
    calls::CallGrammar made =
        TRY(tool_grammar(flags_.tools, *form_, template_->traits(), messages_->set, *tokenizer_));
    grammar = std::move(made.grammar);
    triggers_ = std::move(made.triggers);
  }
  grammar_ = grammar::compile(std::move(grammar), grammar::TokenTrie::create(*tokenizer_));
  return {};
}

grammar::ConstraintOptions ChatSession::constraint(const std::string& written) const {
  grammar::ConstraintOptions options = constraint_options(flags_.grammar);
  if (form_ && !says_where(flags_.grammar)) {
    const auto what = flags_.tools.any() ? calls::Constrained::kCalls : calls::Constrained::kContent;
    options = calls::reasoning_first(*form_, written, what);
    options.triggers = triggers_;
  }
  options.grammar = grammar_;
  return options;
}

void ChatSession::clear() {
  messages_->list = Json::array();
  if (!flags_.system.empty()) messages_->list.push_back({{"role", "system"}, {"content", flags_.system}});
}

Result<ChatSession::Prompt> ChatSession::make_prompt(const std::string& prompt) {
  if (!flags_.ids.empty()) return Prompt{TRY(parse_ids(flags_.ids, "flag --ids")), ""};
  if (flags_.raw) return Prompt{tokenizer_->encode(prompt), ""};
  Json messages = messages_->list;
  messages.push_back({{"role", "user"}, {"content", prompt}});
  std::vector<std::string> warnings;
  ChatOptions options = chat_options(engine_->model().vocab);
  options.warnings = &warnings;
  const jinja::Rendered rendered = TRY(template_->render(messages, messages_->tools, options));
  for (const std::string& warning : warnings)
    if (warned_.insert(warning).second) fmt::print(stderr, "brass: warning: {}\n", warning);
  std::vector<Segment> segments;
  Prompt out;
  for (const auto& s : rendered.segments) {
    segments.push_back({std::string_view(rendered.text).substr(s.begin, s.end - s.begin), s.trusted});
    if (s.trusted) out.written += segments.back().text;
  }
  // The template writes its own beginning-of-text token, if it wants one.
  out.ids = tokenizer_->encode_segments(segments, {.add_bos = false, .add_eos = false});
  return out;
}

// The reply from its first token to its last. With tools its text is read, and `show` gets what is said.
Result<> ChatSession::run_reply(bool in_reasoning, const std::function<bool(std::string_view)>& show) {
  parsed_.reset();
  if (!flags_.tools.any()) return run_alone(*engine_, *generation_, show);
  const calls::ParserOptions options{in_reasoning, flags_.seed.value_or(0)};
  calls::CallParser parser(form_->format, messages_->set, options);
  const auto said = [](const std::vector<calls::Delta>& deltas) {
    std::string text;
    for (const calls::Delta& delta : deltas)
      if (delta.kind == calls::Delta::Kind::kContent || delta.kind == calls::Delta::Kind::kReasoning)
        text += delta.text;
    return text;
  };
  TRY_VOID(run_alone(*engine_, *generation_,
                     [&](std::string_view text) { return show(said(parser.feed(text))); }));
  show(said(parser.finish()));
  parsed_ = parser.message();
  return {};
}

Result<const Generation*> ChatSession::answer(const std::string& prompt,
                                              const std::function<bool(std::string_view)>& show) {
  Prompt made = TRY(make_prompt(prompt));
  GenerationOptions options =
      TRY(generation_options(flags_, tokenizer_.get(), engine_->model().info.vocabulary));
  options.constraint = constraint(made.written);
  options.show_control = flags_.tools.any();
  const bool in_reasoning = options.constraint.in_reasoning;
  generation_ =
      TRY(Generation::start(*engine_, sequence_, tokenizer_.get(), std::move(made.ids), std::move(options)));
  TRY_VOID(run_reply(in_reasoning, show));
  messages_->list.push_back({{"role", "user"}, {"content", prompt}});
  messages_->list.push_back({{"role", "assistant"}, {"content", generation_->text()}});
  return generation_.get();
}

std::string describe_timings(const Generation& generation) {
  const Timings t = generation.timings();
  const auto prefill = report::prefill_tps(t.prompt_tokens, t.cached_tokens, t.prefill_s);
  const auto decode = report::decode_tps(t.decode_tokens, t.decode_s);
  return fmt::format("prompt {} tokens ({} cached), {} · reply {} tokens{}, {} · first text after {} · {}",
                     t.prompt_tokens, t.cached_tokens, report::format_tps(prefill), t.decode_tokens,
                     generation.chosen_by() == ChosenBy::kDevice       ? " (chosen by the device)"
                     : generation.chosen_by() == ChosenBy::kCandidates ? " (of the device's candidates)"
                                                                       : "",
                     report::format_tps(decode), report::format_seconds(t.ttft_s),
                     finish_name(generation.finish()));
}

}  // namespace brass::app
