// Random texts of the grammars of calls, and what the parser reads in them, for call_walks.py to judge.
//
//   call_walks TOOLS.json WALKS SEED TEMPLATE.jinja [TEMPLATE.jinja …]
//
// Lines of JSON: {"template", "format", "choice", "parallel", "text", "content", "calls": [{"name", "arguments"}]}.
#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "calls/grammar_walk.h"
#include "text/calls/call_grammar.h"
#include "text/calls/detect.h"
#include "text/calls/parser.h"

namespace {

using namespace brass;
using namespace brass::calls;
using Json = nlohmann::ordered_json;

std::string read(const char* path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

void print(const char* path, const CallFormat& format, const char* choice, bool parallel,
           const std::string& text, const ParsedMessage& message) {
  Json calls = Json::array();
  for (const ParsedCall& call : message.calls)
    calls.push_back({{"name", call.name}, {"arguments", call.arguments}});
  const Json line = {{"template", path}, {"format", format.family},
                     {"choice", choice}, {"parallel", parallel},
                     {"text", text},     {"content", message.content + message.reasoning},
                     {"calls", calls}};
  fmt::print("{}\n", line.dump(-1, ' ', true, Json::error_handler_t::replace));
}

int walk_template(const char* path, const ToolSet& tools, int walks, Rng& rng) {
  const auto loaded = ChatTemplate::load(read(path));
  if (!loaded) return fmt::print(stderr, "{}: {}\n", path, loaded.error().message), 1;
  const CallFormat format = find_format(**loaded, {}).format;
  for (const bool parallel : {true, false}) {
    for (const ToolChoice choice : {ToolChoice::kAuto, ToolChoice::kRequired}) {
      CallGrammarOptions options;
      options.choice = choice;
      options.parallel = parallel;
      const auto made = call_grammar(format, tools, options);
      if (!made) return fmt::print(stderr, "{}: {}\n", path, made.error().message), 1;
      grammar::RandomWalk walk(*made->grammar);
      for (int i = 0; i < walks; i++) {
        const auto text = walk.text(rng, 30 + static_cast<int>(rng.below(400)));
        if (!text) continue;
        const bool whole = choice == ToolChoice::kAuto && made->triggers.empty();
        print(path, format, whole ? "text or calls" : "calls", parallel, *text,
              parse_reply(format, tools, {}, *text));
      }
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return fmt::print(stderr, "usage: call_walks TOOLS.json WALKS SEED TEMPLATE.jinja …\n"), 2;
  const ToolSet tools(Json::parse(read(argv[1])));
  Rng rng(std::strtoull(argv[3], nullptr, 10));
  int failed = 0;
  for (int i = 4; i < argc; i++) failed |= walk_template(argv[i], tools, std::atoi(argv[2]), rng);
  return failed;
}
