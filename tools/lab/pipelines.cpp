// lab_pipelines: what a driver makes of every program of a model's steps, as JSON, a line a pipeline; the first line is
// the device.
//
//   lab_pipelines MODEL.gguf [--rows N,…] [--matrix-layout gfx11|gfx12] [--prompt-products auto|dots|plain] [--gpu N]
//
// Nothing runs but the matrix unit's probe, and not this where a layout is named: so a card that is not there can be
// compiled for (tools/lab.sh card), and a model's values may be missing (brass-synth --hollow).
#include "backend/vulkan/pipelines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <string>

#include "model/model.h"

namespace brass {
namespace {

struct Flags {
  std::string model;
  PipelineQuery query;
};

Result<uint32_t> number(std::string_view text, std::string_view flag) {
  uint32_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size() || n > 65536)
    return wrong_use("flag {}: '{}' is no number from 0 to 65536", flag, text);
  return n;
}

Result<Flags> read_flags(int argc, char** argv) {
  Flags flags;
  std::string rows = "1,2,4,8,512,2048";
  for (int i = 1; i < argc; i++) {
    const std::string_view word = argv[i];
    const bool known =
        word == "--rows" || word == "--matrix-layout" || word == "--prompt-products" || word == "--gpu";
    if (word.starts_with("--") && (!known || i + 1 == argc))
      return wrong_use("flag {}: {}", word, known ? "a value is missing" : "is not known");
    if (word == "--rows") {
      rows = argv[++i];
    } else if (word == "--matrix-layout") {
      flags.query.matrix_layout = argv[++i];
    } else if (word == "--prompt-products") {
      const auto prompts = find_prompts(argv[++i]);
      if (!prompts || *prompts == Prompts::kMatrix)
        return wrong_use("flag --prompt-products: '{}' is none of auto, dots, plain", argv[i]);
      flags.query.prompts = *prompts;
    } else if (word == "--gpu") {
      flags.query.device = static_cast<int32_t>(TRY(number(argv[++i], word)));
    } else {
      flags.model = word;
    }
  }
  if (flags.model.empty())
    return wrong_use(
        "usage: lab_pipelines MODEL.gguf [--rows N,…] [--matrix-layout NAME] [--prompt-products NAME] [--gpu "
        "N]");
  for (size_t at = 0; at <= rows.size();) {
    const size_t comma = std::min(rows.find(',', at), rows.size());
    const uint32_t n = TRY(number(std::string_view(rows).substr(at, comma - at), "--rows"));
    if (n == 0) return wrong_use("flag --rows: a step has at least one row");
    flags.query.rows.push_back(n);
    at = comma + 1;
  }
  return flags;
}

std::string json(const PipelineReport& report) {
  std::vector<std::string> uses, figures;
  for (const auto& [rows, n] : report.uses) uses.push_back(fmt::format("\"{}\": {}", rows, n));
  for (const auto& [name, value] : report.figures) figures.push_back(fmt::format("\"{}\": {}", name, value));
  return fmt::format(R"({{"program": "{}", "constants": [{}], "uses": {{{}}}, "figures": {{{}}}}})",
                     report.program, fmt::join(report.constants, ", "), fmt::join(uses, ", "),
                     fmt::join(figures, ", "));
}

Result<> run(const Flags& flags) {
  const std::unique_ptr<Model> model = TRY(load_model(flags.model));
  const PipelineList list = TRY(list_pipelines(model->graph, flags.query));
  fmt::print(R"({{"device": "{}", "driver": "{}", "subgroup": {}, "matrix_unit": {}, "dots": {}}})"
             "\n",
             list.device, list.driver, list.subgroup, list.matrix_unit, list.dots);
  for (const PipelineReport& report : list.pipelines) fmt::print("{}\n", json(report));
  return {};
}

}  // namespace
}  // namespace brass

int main(int argc, char** argv) {
  const brass::Result<brass::Flags> flags = brass::read_flags(argc, argv);
  const brass::Result<> done = flags ? brass::run(*flags) : brass::Result<>(std::unexpected(flags.error()));
  if (done) return 0;
  fmt::print(stderr, "lab_pipelines: {}{}{}\n", done.error().message, done.error().hint.empty() ? "" : "; ",
             done.error().hint);
  return done.error().wrong_use ? 2 : 1;
}
