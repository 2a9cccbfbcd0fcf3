// brass bench compare: two reports, or two settings measured in turns.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/bench_facts.h"
#include "app/bench_flags.h"
#include "app/bench_meter.h"
#include "app/terminal.h"
#include "report/format.h"
#include "report/saved_report.h"

namespace brass::app {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint32_t kRounds = 10, kDecodeTokens = 32;

void print(const BenchFlags& flags, const std::vector<report::ComparedFigure>& figures,
           const std::vector<std::string>& notes) {
  if (flags.json) {
    Json list = Json::array();
    for (const report::ComparedFigure& f : figures)
      list.push_back(
          {{"figure", f.name},
           {"a_median_s", report::median(f.a)},
           {"b_median_s", report::median(f.b)},
           {"a_rounds_s", f.a},
           {"b_rounds_s", f.b},
           {"speed_ratio",
            {{"low", f.result.ratio.low}, {"middle", f.result.ratio.middle}, {"high", f.result.ratio.high}}},
           {"verdict", report::describe(f.result)}});
    fmt::print("{}\n", Json{{"figures", list}, {"notes", notes}}.dump(1));
    return;
  }
  for (const report::ComparedFigure& f : figures)
    fmt::print("  {:<28} A {:>14}   B {:>14}   {}\n", f.name,
               report::format_tps(f.tokens / report::median(f.a)),
               report::format_tps(f.tokens / report::median(f.b)), report::describe(f.result));
  for (const std::string& note : notes) fmt::print("  {}\n", note);
}

// What must be equal, as one refusal that lists all differences; a note where they are allowed.
Result<std::string> judge_differences(const std::vector<std::string>& different, bool allowed) {
  std::string list;
  for (const std::string& d : different) list += (list.empty() ? "" : "; ") + d;
  if (!different.empty() && !allowed)
    return std::unexpected(Error{"A and B are not of the same kind: " + list,
                                 "--allow-different compares them all the same", true});
  return different.empty() ? "" : "Different, and compared all the same: " + list;
}

Result<> compare_files(const BenchFlags& flags) {
  if (flags.rounds > 0) return wrong_use("flag --rounds: two reports have the rounds that they have");
  const report::SavedReport a =
      TRY(within(flags.second, report::parse_saved_report(TRY(read_text_file(flags.second)))));
  const report::SavedReport b =
      TRY(within(flags.third, report::parse_saved_report(TRY(read_text_file(flags.third)))));
  const std::string note = TRY(judge_differences(report::differences(a, b), flags.allow_different));
  const std::vector<report::ComparedFigure> figures = report::compare_reports(a, b);
  if (figures.empty()) return fail("the two reports have no figure in common");
  std::vector<std::string> notes = {
      "The runs were not interleaved: the machine may have changed between them."};
  if (!note.empty()) notes.push_back(note);
  print(flags, figures, notes);
  return {};
}

// "--threads 2 --kv-type int8": the flags that one side may have.
Result<ModelFlags> side_flags(const ModelFlags& common, const std::string& model, const std::string& text,
                              const char* side) {
  ModelFlags flags = common;
  flags.model = model;
  std::istringstream in(text);
  for (std::string name, value; in >> name;) {
    if (!(in >> value)) return wrong_use("flag {}: {} has no value", side, name);
    const auto number = [&]() -> Result<uint32_t> {
      char* end = nullptr;
      const unsigned long n = std::strtoul(value.c_str(), &end, 10);
      if (*end != 0 || n > 1u << 24 || value[0] == '-')
        return wrong_use("flag {}: '{} {}' is not a number", side, name, value);
      return static_cast<uint32_t>(n);
    };
    if (name == "--model")
      flags.model = value;
    else if (name == "--threads")
      flags.threads = TRY(number());
    else if (name == "--context")
      flags.context = TRY(number());
    else if (name == "--kv-type")
      flags.kv_type = value;
    else if (name == "--gpu")
      flags.gpu = static_cast<int>(TRY(number()));
    else if (name == "--isa")
      flags.isa = value;
    else if (name == "--device")
      flags.device = value;
    else
      return wrong_use(
          "flag {}: '{}' is none of --model, --threads, --context, --kv-type, --isa, --device, --gpu", side,
          name);
  }
  return flags;
}

struct Side {
  std::unique_ptr<Meter> meter;
  std::string driver;                                // with the device's kind: "cpu, none; Linux 6.1.0"
  SequenceId kept = -1;                              // the prefix behind which decode is measured
  std::vector<double> prefill, decode, deep_decode;  // seconds, one a round
  void keep_rounds(size_t most) {
    for (std::vector<double>* rounds : {&prefill, &decode, &deep_decode})
      if (rounds->size() > most) rounds->resize(most);
  }
};

constexpr uint32_t kDeep = 2048;

Result<Side> open_side(const ModelFlags& flags) {
  Side side;
  std::unique_ptr<Model> model = TRY(load_model(TRY(find_model(flags))));
  const uint32_t context =
      std::min(model->info.context_length, flags.context != 0 ? flags.context : kDeep + 2 * kDecodeTokens);
  side.meter = TRY(Meter::open(flags, std::move(model), {.context = context, .held = 1}));
  side.driver = fmt::format("{}, {}", flags.device, TRY(driver_text(*side.meter, flags)));
  if (context >= kDeep + kDecodeTokens + 2) {
    side.kept = TRY(side.meter->engine().create_sequence());
    TRY_VOID(side.meter->extend(side.kept, kDeep));
  }
  return side;
}

Result<> measure_round(Side& side, uint32_t prompt, bool counts) {
  Meter& meter = *side.meter;
  const double prefill = TRY(meter.request(prompt, 1)).prefill;
  const Request shallow = TRY(meter.request(1, std::min(kDecodeTokens, meter.context() - 2) + 1));
  double deep = 0;
  if (side.kept >= 0) {
    const Request r = TRY(meter.request_behind(side.kept, kDecodeTokens + 1));
    deep = r.decode / std::max(1.0, static_cast<double>(r.gaps.size()));
  }
  if (!counts || interrupted()) return {};
  side.prefill.push_back(prefill);
  side.decode.push_back(shallow.decode / static_cast<double>(shallow.gaps.size()));
  if (side.kept >= 0) side.deep_decode.push_back(deep);
  return {};
}

// Threads and tiers of one device may differ: they are what is compared.
std::vector<std::string> live_differences(Side& a, Side& b) {
  std::vector<std::string> different;
  if (a.driver != b.driver) different.push_back(fmt::format("the drivers ({} and {})", a.driver, b.driver));
  if (weights_sha256(*a.meter->model().file) != weights_sha256(*b.meter->model().file))
    different.push_back("the files");
  if (a.meter->prompt_sha256() != b.meter->prompt_sha256()) different.push_back("the tokens of the prompt");
  return different;
}

Result<> compare_live(const BenchFlags& flags) {
  if (flags.second.empty() || !flags.third.empty())
    return wrong_use("brass bench compare: give MODEL with --a and --b");
  Side a = TRY(open_side(TRY(side_flags(flags.model, flags.second, flags.a, "--a"))));
  Side b = TRY(open_side(TRY(side_flags(flags.model, flags.second, flags.b, "--b"))));
  const std::string note = TRY(judge_differences(live_differences(a, b), flags.allow_different));
  const uint32_t rounds = flags.rounds > 0 ? flags.rounds : kRounds;
  const uint32_t prompt = std::min({Meter::kChunk, a.meter->context() / 2, b.meter->context() / 2});
  std::vector<std::string> notes;
  catch_interrupts();
  for (uint32_t round = 0; round <= rounds;
       round++) {  // the first one warms up; each next one begins with the other side
    TRY_VOID(measure_round(round % 2 == 0 ? a : b, prompt, round > 0));
    TRY_VOID(measure_round(round % 2 == 0 ? b : a, prompt, round > 0));
    if (!interrupted()) continue;
    a.keep_rounds(b.prefill.size());  // both sides of a round count, or neither
    b.keep_rounds(a.prefill.size());
    notes.push_back(fmt::format("Partial: Ctrl-C after {} of {} rounds.", a.prefill.size(), rounds));
    break;
  }
  std::vector<report::ComparedFigure> figures;
  const auto add = [&](const std::string& name, double tokens, const std::vector<double>& x,
                       const std::vector<double>& y) {
    if (!x.empty() && x.size() == y.size())
      figures.push_back({name, tokens, x, y, report::compare_seconds(x, y, true)});
  };
  add(fmt::format("prefill, {} tokens", prompt), prompt, a.prefill, b.prefill);
  add("decode, depth 0", 1, a.decode, b.decode);
  add(fmt::format("decode, depth {}", report::format_tokens(kDeep)), 1, a.deep_decode, b.deep_decode);
  notes.push_back(fmt::format("{} rounds in turns, A B B A; A: {}; B: {}.", a.prefill.size(),
                              flags.a.empty() ? "no flags" : flags.a,
                              flags.b.empty() ? "no flags" : flags.b));
  if (!note.empty()) notes.push_back(note);
  print(flags, figures, notes);
  return {};
}

}  // namespace

Result<> bench_compare(const BenchFlags& flags) {
  if (!flags.a.empty() || !flags.b.empty()) return compare_live(flags);
  if (flags.third.empty())
    return wrong_use("brass bench compare: give A.json and B.json, or MODEL with --a and --b");
  return compare_files(flags);
}

}  // namespace brass::app
