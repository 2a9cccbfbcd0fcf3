// brass eval: teacher-forced logits and negative log-likelihoods of a text; how far another file or cache is from it.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/session.h"
#include "runtime/divergence.h"

namespace brass::app {
namespace {

using Json = nlohmann::ordered_json;

struct EvalFlags {
  ModelFlags model;
  std::string text_file, ids, ids_file;
  std::string against,
      against_kv_type;  // another file of the same vocabulary, another type of keys and values
  uint32_t top = 10;
  uint32_t chunk = 64;
  bool json = false;
};

struct Position {
  std::vector<std::pair<int32_t, float>> top;  // best first
  double nll = 0;                              // of the next token; unused at the last position
};

// −log softmax(logits)[id], in f64.
double negative_log_likelihood(std::span<const float> logits, int32_t id) {
  const float top = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float x : logits) sum += std::exp(static_cast<double>(x) - top);
  return top + std::log(sum) - logits[static_cast<size_t>(id)];
}

std::vector<std::pair<int32_t, float>> best(std::span<const float> logits, uint32_t count) {
  std::vector<int32_t> order(logits.size());
  for (size_t i = 0; i < order.size(); i++) order[i] = static_cast<int32_t>(i);
  count = std::min<uint32_t>(count, static_cast<uint32_t>(order.size()));
  const auto better = [&](int32_t a, int32_t b) {
    const float x = logits[static_cast<size_t>(a)], y = logits[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  };
  std::partial_sort(order.begin(), order.begin() + count, order.end(), better);
  std::vector<std::pair<int32_t, float>> top;
  for (uint32_t i = 0; i < count; i++) top.emplace_back(order[i], logits[static_cast<size_t>(order[i])]);
  return top;
}

Result<std::vector<int32_t>> read_ids(const EvalFlags& flags, const Model& model) {
  const int given = !flags.text_file.empty() + !flags.ids.empty() + !flags.ids_file.empty();
  if (given != 1) return wrong_use("give one of --text-file, --ids and --ids-file");
  if (!flags.ids.empty()) return parse_ids(flags.ids, "flag --ids");
  if (!flags.ids_file.empty()) return parse_ids(TRY(read_text_file(flags.ids_file)), "flag --ids-file");
  const std::unique_ptr<Tokenizer> tokenizer = TRY(need_tokenizer(model, "--text-file"));
  return tokenizer->encode(TRY(read_text_file(flags.text_file)));
}

// One window of ids from a cold start: positions [0, ids.size()), appended to `out`.
Result<> eval_window(Engine& engine, SequenceId sequence, std::span<const int32_t> ids, uint32_t top,
                     std::vector<Position>& out) {
  TRY_VOID(engine.sync(sequence, ids));
  while (engine.has_work()) {
    for (const StepRows& rows : TRY(engine.step())) {
      for (uint32_t i = 0; i < rows.count; i++) {
        const std::span<const float> logits = engine.logits(rows.first_row + i);
        for (const float x : logits)
          if (!std::isfinite(x))
            return fail("the logits of position {} are not finite", rows.first_position + i);
        Position p{.top = best(logits, top)};
        const size_t next = rows.first_position + i + 1;
        if (next < ids.size()) p.nll = negative_log_likelihood(logits, ids[next]);
        out.push_back(std::move(p));
      }
    }
  }
  return {};
}

// Texts longer than the context: windows that start afresh. The first token of a window has no prediction
// from the one before, so windows overlap by one token.
Result<std::vector<Position>> eval_all(Engine& engine, std::span<const int32_t> ids, uint32_t top,
                                       uint32_t& windows) {
  std::vector<Position> positions;
  const size_t span = engine.context();
  for (size_t begin = 0;;) {
    const size_t end = std::min(ids.size(), begin + span);
    if (begin > 0) positions.pop_back();  // the shared token's prediction comes from the new window
    const SequenceId sequence = TRY(engine.create_sequence());
    engine.want_logits(sequence, LogitRows::kAll);
    TRY_VOID(eval_window(engine, sequence, ids.subspan(begin, end - begin), top, positions));
    engine.drop(sequence);
    windows++;
    if (end == ids.size()) return positions;
    begin = end - 1;
  }
}

Json to_json(const EvalFlags& flags, const Engine& engine, const std::vector<int32_t>& ids,
             const std::vector<Position>& positions, double mean, uint32_t windows,
             const std::optional<Divergence>& divergence) {
  Json out;
  out["model"] = engine.model().file->path();
  out["device"] = engine.device().describe();
  out["ids"] = ids;
  Json list = Json::array();
  for (size_t i = 0; i < positions.size(); i++) {
    Json p;
    p["i"] = i;
    const bool last = i + 1 == ids.size();
    p["next"] = last ? Json(nullptr) : Json(ids[i + 1]);
    p["nll"] = last ? Json(nullptr) : Json(positions[i].nll);
    Json top = Json::array();
    for (const auto& [id, logit] : positions[i].top) top.push_back(Json::array({id, logit}));
    p["top"] = std::move(top);
    list.push_back(std::move(p));
  }
  out["positions"] = std::move(list);
  const bool scored = ids.size() > 1;
  out["mean_nll"] = scored ? Json(mean) : Json(nullptr);
  out["ppl"] = scored ? Json(std::exp(mean)) : Json(nullptr);
  if (windows > 1) out["windows"] = {{"count", windows}, {"tokens", engine.context()}};
  if (divergence)
    out["against"] = {
        {"model", flags.against.empty() ? Json(nullptr) : Json(flags.against)},
        {"kv_type", flags.against_kv_type.empty() ? Json(nullptr) : Json(flags.against_kv_type)},
        {"positions", divergence->positions},
        {"mean_kl", divergence->mean_kl()},
        {"largest_kl", divergence->kl_largest},
        {"same_top", divergence->same_top_share()}};
  return out;
}

// The mean over windows as eval_all() cuts them; a window's first token has no context in either model.
Result<Divergence> compare_with(const EvalFlags& flags, Engine& base, std::span<const int32_t> ids) {
  ModelFlags changed = flags.model;
  if (!flags.against.empty()) changed.model = flags.against;
  if (!flags.against_kv_type.empty()) changed.kv_type = flags.against_kv_type;
  const std::unique_ptr<Engine> other =
      TRY(open_engine(changed, {.context = base.context(), .chunk = flags.chunk, .outputs = flags.chunk}));
  const size_t span = std::min(base.context(), other->context());
  Divergence sum;
  for (size_t begin = 0; begin < ids.size(); begin += span)
    sum.add(TRY(measure_divergence(base, *other, ids.subspan(begin, std::min(span, ids.size() - begin)))));
  return sum;
}

bool compares(const EvalFlags& flags) { return !flags.against.empty() || !flags.against_kv_type.empty(); }

Result<> run_eval(const EvalFlags& flags) {
  std::unique_ptr<Model> model = TRY(load_model(TRY(find_model(flags.model))));
  TRY_VOID(need_logits(*model, "brass eval"));
  const std::vector<int32_t> ids = TRY(read_ids(flags, *model));
  if (ids.empty()) return wrong_use("there is nothing to evaluate: the text has no tokens");
  // The text's own length, which decides how some models rotate (rope_scaling.h).
  const auto context =
      static_cast<uint32_t>(std::min<size_t>({ids.size(), model->info.context_length, kDefaultContext}));
  const std::unique_ptr<Engine> engine = TRY(open_engine(
      flags.model, std::move(model), {.context = context, .chunk = flags.chunk, .outputs = flags.chunk}));
  uint32_t windows = 0;
  const std::vector<Position> positions = TRY(eval_all(*engine, ids, flags.top, windows));
  double sum = 0;
  for (size_t i = 0; i + 1 < ids.size(); i++) sum += positions[i].nll;
  const double mean = ids.size() > 1 ? sum / static_cast<double>(ids.size() - 1) : 0;
  if (windows > 1)
    fmt::print(stderr, "{} tokens are more than the context of {}: evaluated in {} windows\n", ids.size(),
               engine->context(), windows);
  std::optional<Divergence> divergence;
  if (compares(flags)) divergence = TRY(compare_with(flags, *engine, ids));
  if (flags.json) {
    fmt::print("{}\n", to_json(flags, *engine, ids, positions, mean, windows, divergence).dump());
  } else {
    fmt::print("{}\n{}\n{} tokens\nmean nll {:.6f}\nppl      {:.4f}\n", engine->model().file->path(),
               engine->device().describe(), ids.size(), mean, std::exp(mean));
    if (divergence)
      fmt::print("KL       {:.6f} nats a token, {:.4f} at most; the same first choice at {:.1f} %\n",
                 divergence->mean_kl(), divergence->kl_largest, 100 * divergence->same_top_share());
  }
  return {};
}

}  // namespace

Body declare_eval(Arguments& arguments) {
  auto flags = std::make_shared<EvalFlags>();
  declare_model(arguments, flags->model);
  declare_device(arguments, flags->model);
  arguments.option("--text-file", flags->text_file, "a text ('-': standard input)");
  arguments.option("--ids", flags->ids, "token ids: 1,2,3");
  arguments.option("--ids-file", flags->ids_file, "a file of token ids");
  arguments.option(
      "--against", flags->against,
      "another file of the same model: also print the KL divergence of its predictions from MODEL's");
  arguments.option("--against-kv-type", flags->against_kv_type,
                   "the same with keys and values of this type (with --against: of that file)");
  arguments.option("--top", flags->top, "best logits to show at each position");
  arguments.option("--chunk", flags->chunk, "tokens computed together");
  arguments.flag("--json", flags->json, "machine-readable");
  return [flags] {
    return flags->chunk == 0 ? Result<>(wrong_use("flag --chunk: 0 is too few")) : run_eval(*flags);
  };
}

}  // namespace brass::app
