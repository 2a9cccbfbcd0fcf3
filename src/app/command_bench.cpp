// brass bench: two numbers, where every byte goes, and what each lever would buy.
#include "app/bench_flags.h"
#include "app/commands.h"

namespace brass::app {
namespace {

struct Form {
  const char* word;
  Result<> (*run)(const BenchFlags& flags);
  uint32_t most_operands;  // behind the word
};
// A model file with such a name is given as ./compare.
constexpr Form kForms[] = {{"article", bench_article, 0},
                           {"compare", bench_compare, 2},
                           {"recommend", bench_recommend, 1},
                           {"client", bench_client, 1}};

// Flags that a form does not read are wrong use: they would be ignored quietly.
Result<> check_flags(const BenchFlags& f, std::string_view form) {
  const auto only = [&](bool given, const char* flag,
                        std::initializer_list<std::string_view> forms) -> Result<> {
    if (!given) return {};
    for (const std::string_view name : forms)
      if (name == form) return {};
    return wrong_use("flag {}: brass bench {} does not use it", flag, form.empty() ? "MODEL" : form);
  };
  TRY_VOID(only(f.full, "--full", {""}));
  TRY_VOID(only(!f.out.empty(), "--out", {"", "article", "client"}));
  TRY_VOID(only(!f.workload_file.empty(), "--workload-file", {""}));
  TRY_VOID(only(!f.workloads.empty(), "--workload", {"", "recommend", "client"}));
  TRY_VOID(only(f.levers, "--levers", {""}));
  TRY_VOID(only(f.verify, "--verify", {""}));
  TRY_VOID(only(!f.other.empty(), "--other", {""}));
  TRY_VOID(only(!f.a.empty() || !f.b.empty(), "--a, --b", {"compare"}));
  TRY_VOID(only(f.allow_different, "--allow-different", {"compare"}));
  TRY_VOID(only(!f.budget.empty(), "--budget", {"recommend"}));
  TRY_VOID(only(!f.concurrency.empty(), "--concurrency", {"client"}));
  TRY_VOID(only(!f.api_key.empty(), "--api-key-file", {"client"}));
  TRY_VOID(only(f.seconds > 0, "--seconds", {""}));
  TRY_VOID(only(f.rounds > 0, "--rounds", {"", "compare", "client"}));
  TRY_VOID(only(f.json, "--json", {"", "compare", "recommend", "client"}));
  const ModelFlags& m = f.model;
  const bool names_device = m.device != "auto" || m.gpu >= 0 || !m.device_memory.empty() || !m.isa.empty() ||
                            m.threads > 0 || m.context > 0 || !m.kv_type.empty();
  const bool two_reports = form == "compare" && f.a.empty() && f.b.empty();
  if (two_reports && names_device)
    return wrong_use("brass bench compare: two reports are compared as they are, without flags of a device");
  TRY_VOID(only(names_device, "--device, --gpu, --device-memory, --isa, --threads, --context, --kv-type",
                {"", "compare", "recommend"}));
  if (f.verify && !f.levers) return wrong_use("flag --verify: needs --levers");
  if (!f.other.empty() && !f.levers) return wrong_use("flag --other: needs --levers");
  return {};
}

Result<> run_bench(const BenchFlags& flags) {
  for (const Form& form : kForms) {
    if (flags.model.model != form.word) continue;
    if ((form.most_operands < 2 && !flags.third.empty()) || (form.most_operands < 1 && !flags.second.empty()))
      return wrong_use("brass bench {}: '{}' is one operand too many", form.word,
                       flags.third.empty() ? flags.second : flags.third);
    TRY_VOID(check_flags(flags, form.word));
    return form.run(flags);
  }
  if (!flags.second.empty())
    return wrong_use("brass bench MODEL: '{}' is one operand too many", flags.second);
  TRY_VOID(check_flags(flags, ""));
  return bench_model(flags);
}

}  // namespace

Body declare_bench(Arguments& arguments) {
  auto flags = std::make_shared<BenchFlags>();
  arguments.operand("WHAT", flags->model.model,
                    "a MODEL (file or name), or: article | compare | recommend | client");
  arguments.operand("SECOND", flags->second,
                    "compare: A.json, or MODEL with --a and --b; recommend: MODEL; client: URL", false);
  arguments.operand("THIRD", flags->third, "compare: B.json", false);
  arguments.option("--store", flags->model.store, "folder of the model store");
  declare_device(arguments, flags->model);
  arguments.flag("--full", flags->full, "every depth and workload, however long it takes");
  arguments.option("--out", flags->out, "folder for report.html, report.json, figure.svg");
  arguments.option("--workload", flags->workloads,
                   "PROMPT/REPLY in tokens (16k/1k), or short-chat, chat-turn, code-review, rag-answer, "
                   "doc-summary (repeatable)");
  arguments.option("--workload-file", flags->workload_file,
                   "requests of your own: JSON lines with prompt_tokens and completion_tokens");
  arguments.flag("--levers", flags->levers, "what each change would do to the (first) workload");
  arguments.flag("--verify", flags->verify,
                 "runs the levers that can be run here, after their predictions are written down");
  arguments.option("--other", flags->other, "--levers: another file of the same model, as a lever");
  arguments.option("--a", flags->a, "compare: flags of side A, for example \"--kv-type f16\"");
  arguments.option("--b", flags->b, "compare: flags of side B");
  arguments.flag("--allow-different", flags->allow_different,
                 "compare: even different files, prompts or devices");
  arguments.option("--budget", flags->budget, "recommend: memory to stay within, for example 16GB");
  arguments.option("--concurrency", flags->concurrency,
                   "client: requests at once (repeatable; default 1, 2, 4)");
  arguments.option("--api-key-file", flags->api_key, "client: file that holds the key");
  arguments.option("--seconds", flags->seconds, "time for loading and measuring (default 95)");
  arguments.option("--rounds", flags->rounds, "rounds of each measurement (default 5; compare 10, client 1)");
  arguments.flag("--json", flags->json, "the report as JSON on standard output");
  return [flags] { return run_bench(*flags); };
}

}  // namespace brass::app
