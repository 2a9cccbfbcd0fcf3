// Replies of a model under grammars, many in one process, as structured_output.py judges them.
//
//   structured_driver MODEL.gguf SEQUENCES THREADS < tasks.jsonl
//
// A task: {"id", "prompt", "seed", "limit"} and one of "json_schema", "regex", "choices" (an array), "gbnf", "tools" (an
// array; a call is required). A reply, in the order in which they end: {"id", "text", "finish"}, of tools also "calls"; or
// {"id", "refused"}, the reason. Temperature 1, no other filter.
#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "backend/cpu/device.h"
#include "runtime/generation.h"
#include "text/calls/call_grammar.h"
#include "text/calls/parser.h"
#include "text/calls/reasoning_first.h"
#include "text/grammar/choices.h"
#include "text/grammar/gbnf.h"
#include "text/grammar/schema.h"

namespace {

using namespace brass;
using Json = nlohmann::ordered_json;
using GrammarResult = Result<std::shared_ptr<const grammar::Grammar>>;

void print(const Json& json) {
  fmt::print("{}\n", json.dump(-1, ' ', true, Json::error_handler_t::replace));
  std::fflush(stdout);
}

class Driver {
 public:
  Driver(Engine& engine, const Tokenizer& tokenizer, const ChatTemplate& chat, uint32_t sequences)
      : engine_(engine),
        tokenizer_(tokenizer),
        chat_(chat),
        trie_(grammar::TokenTrie::create(tokenizer)),
        slots_(sequences) {
    const VocabSpec& vocab = engine.model().vocab;
    const auto text = [&](int32_t id) { return id < 0 ? "" : vocab.tokens[static_cast<size_t>(id)]; };
    options_.bos_token = text(vocab.bos);
    options_.eos_token = text(vocab.eos);
    options_.clock = 0;
    form_ = calls::find_format(chat, options_);
  }

  Result<> run(std::istream& tasks) {
    for (Slot& slot : slots_) slot.sequence = TRY(engine_.create_sequence());
    for (;;) {
      bool busy = false;
      for (Slot& slot : slots_) {
        if (!slot.generation) TRY_VOID(fill(slot, tasks));
        busy |= slot.generation != nullptr;
      }
      if (!busy) return {};
      TRY_VOID(step());
    }
  }

 private:
  struct Slot {
    SequenceId sequence = -1;
    Json task;
    std::unique_ptr<Generation> generation;
    calls::ToolSet tools;
  };

  Result<> step() {
    const std::span<const StepRows> made = TRY(engine_.step());
    for (const StepRows& rows : made) {
      for (Slot& slot : slots_) {
        if (slot.sequence != rows.sequence) continue;
        TRY_VOID(slot.generation->accept_row(rows.first_row + rows.count - 1));
        if (slot.generation->finish() != Finish::kNone) report(slot);
      }
    }
    return {};
  }

  void report(Slot& slot) {
    const Generation& g = *slot.generation;
    Json out = {{"id", slot.task["id"]}, {"text", g.text()}, {"finish", finish_name(g.finish())}};
    if (slot.task.contains("tools")) {
      out["calls"] = Json::array();
      for (const calls::ParsedCall& call : calls::parse_reply(form_.format, slot.tools, {}, g.text()).calls)
        out["calls"].push_back({{"name", call.name}, {"arguments", call.arguments}});
    }
    print(out);
    slot.generation.reset();
  }

  // The next task that is not refused; none: there are no more.
  Result<> fill(Slot& slot, std::istream& tasks) {
    for (std::string line; std::getline(tasks, line);) {
      slot.task = TRY(grammar::parse_schema(line));
      Result<GenerationOptions> options = this->options(slot);
      if (!options) {
        print({{"id", slot.task["id"]}, {"refused", options.error().message}});
        continue;
      }
      std::vector<int32_t> ids = TRY(prompt(slot.task));
      slot.generation =
          TRY(Generation::start(engine_, slot.sequence, &tokenizer_, std::move(ids), std::move(*options)));
      return {};
    }
    return {};
  }

  Result<std::vector<int32_t>> prompt(const Json& task) const {
    const Json messages = Json::array({{{"role", "user"}, {"content", task["prompt"]}}});
    const Json tools = task.contains("tools") ? task["tools"] : Json();
    const jinja::Rendered rendered = TRY(chat_.render(messages, tools, options_));
    std::vector<Segment> segments;
    for (const auto& s : rendered.segments)
      segments.push_back({std::string_view(rendered.text).substr(s.begin, s.end - s.begin), s.trusted});
    return tokenizer_.encode_segments(segments, {.add_bos = false, .add_eos = false});
  }

  Result<GenerationOptions> options(Slot& slot) const {
    GenerationOptions out;
    out.sampling.temperature = 1;
    out.sampling.top_k = 0;
    out.sampling.top_p = 1;
    out.sampling.min_p = 0;
    out.sampling.seed = slot.task["seed"].get<uint64_t>();
    out.max_tokens = slot.task["limit"].get<uint32_t>();
    out.constraint.grammar = grammar::compile(TRY(grammar_of(slot)), trie_);
    out.show_control = slot.task.contains("tools");
    return out;
  }

  GrammarResult grammar_of(Slot& slot) const {
    const Json& task = slot.task;
    if (task.contains("json_schema")) return grammar::grammar_from_schema(task["json_schema"]);
    if (task.contains("regex")) return grammar::grammar_from_regex(task["regex"].get<std::string>());
    if (task.contains("gbnf")) return grammar::grammar_from_gbnf(task["gbnf"].get<std::string>());
    if (task.contains("choices"))
      return grammar::grammar_from_choices(task["choices"].get<std::vector<std::string>>());
    slot.tools = calls::ToolSet(task["tools"]);
    calls::CallGrammarOptions options;
    options.choice = calls::ToolChoice::kRequired;
    options.parallel = false;
    options.controls = calls::control_pieces(form_.format, tokenizer_);
    return TRY(calls::call_grammar(form_.format, slot.tools, options)).grammar;
  }

  Engine& engine_;
  const Tokenizer& tokenizer_;
  const ChatTemplate& chat_;
  std::shared_ptr<const grammar::TokenTrie> trie_;
  std::vector<Slot> slots_;
  ChatOptions options_;
  calls::ReplyForm form_;
};

Result<> run(const std::string& path, uint32_t sequences, uint32_t threads) {
  std::unique_ptr<Model> model = TRY(load_model(path));
  const std::unique_ptr<ChatTemplate> chat = TRY(ChatTemplate::load(model->vocab.chat_template));
  const std::unique_ptr<Tokenizer> tokenizer = TRY(Tokenizer::create(model->vocab));
  std::unique_ptr<Device> device =
      TRY(make_cpu_device({.threads = threads, .isa = {}, .k_type = KvType::kF16, .v_type = KvType::kF16}));
  const std::unique_ptr<Engine> engine =
      TRY(Engine::create(std::move(model), std::move(device), {.context = 2048, .sequences = sequences},
                         [](uint64_t, uint64_t) {}));
  return Driver(*engine, *tokenizer, *chat, sequences).run(std::cin);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return fmt::print(stderr, "usage: structured_driver MODEL.gguf SEQUENCES THREADS\n"), 2;
  const Result<> done =
      run(argv[1], static_cast<uint32_t>(std::atoi(argv[2])), static_cast<uint32_t>(std::atoi(argv[3])));
  if (!done) return fmt::print(stderr, "{}\n", done.error().message), 1;
  return 0;
}
