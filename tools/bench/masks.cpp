// How long token masks take: random replies of a grammar, each token chosen among those that its mask allows.
//
//   bench_masks VOCABULARY.gguf [REPLIES] [SEED] [SCHEMAS.jsonl]
//
// With lines of {"schema", "draft"} (tests/grammar/fixtures/schema_suite.jsonl: the JSON Schema Test Suite) a few replies of each
// are a row of their own, and so is a schema of 5 KB.
//
// Columns: microseconds of CPU time on one thread for a mask, each grammar compiled anew for each reply, so that first
// visits count: the median, the 99th percentile, the most; then the grammar's making and compiling, in milliseconds. Below
// stands where a row's slowest mask, and its slowest step over a token (accepting it, and what is forced behind it), was.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/rng.h"
#include "gguf/vocab.h"
#include "grammar/large_schema.h"
#include "text/grammar/matcher.h"
#include "text/grammar/schema.h"
#include "text/tokenizer.h"

namespace {

using namespace brass;
using namespace brass::grammar;
using Json = nlohmann::ordered_json;

constexpr int kMostTokens = 200;  // of a reply

double cpu_microseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

struct Slowest {
  double microseconds = 0;
  std::string where;  // the grammar, and the text in front

  void add(double took, std::string_view name, const std::string& text) {
    if (took <= microseconds) return;
    microseconds = took;
    where =
        fmt::format("{} behind {}", name, Json(text).dump(-1, ' ', false, Json::error_handler_t::replace));
  }
};

struct Figures {
  std::vector<double> masks, compiles;
  Slowest mask, step;
};

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<size_t>(q * static_cast<double>(values.size())))];
}

// A token among those allowed; short ones more often, for uniform choices would never close a string.
int32_t choose(const std::vector<uint64_t>& bits, const Tokenizer& tokenizer, Rng& rng) {
  std::vector<int32_t> allowed;
  for (int32_t id = 0; id < tokenizer.size(); ++id) {
    if ((bits[static_cast<size_t>(id) / 64] >> (id % 64) & 1) != 0) allowed.push_back(id);
  }
  if (allowed.empty()) return -1;
  int32_t best = allowed[rng.below(allowed.size())];
  for (uint64_t tries = rng.below(40); tries > 0; --tries) {
    const int32_t other = allowed[rng.below(allowed.size())];
    if (tokenizer.piece(other).size() < tokenizer.piece(best).size()) best = other;
  }
  return best;
}

void reply(const std::function<std::shared_ptr<const Grammar>()>& make,
           const std::shared_ptr<const TokenTrie>& trie, const Tokenizer& tokenizer, Rng& rng,
           std::string_view name, Figures& figures) {
  const double begin = cpu_microseconds();
  const std::shared_ptr<const Grammar> grammar = make();
  if (!grammar) return;
  Matcher matcher(compile(grammar, trie));
  figures.compiles.push_back((cpu_microseconds() - begin) * 1e-3);
  std::vector<uint64_t> bits((static_cast<size_t>(tokenizer.size()) + 63) / 64);
  std::string text;
  for (int i = 0; i < kMostTokens && !matcher.must_end(); ++i) {
    const double before = cpu_microseconds();
    matcher.mask(bits);
    figures.masks.push_back(cpu_microseconds() - before);
    figures.mask.add(figures.masks.back(), name, text);
    const int32_t id = choose(bits, tokenizer, rng);
    if (id < 0 || tokenizer.is_eog(id)) break;
    const double chosen = cpu_microseconds();
    if (!matcher.accept_token(id)) break;
    text += tokenizer.piece(id);
    (void)matcher.forced();
    figures.step.add(cpu_microseconds() - chosen, name, text);
  }
}

void print_times(std::string_view name, const Figures& f) {
  fmt::print("{:<24} {:>8} masks {:>8.1f} {:>8.1f} {:>8.1f} µs   {:>8.2f} {:>8.2f} ms\n", name,
             f.masks.size(), quantile(f.masks, 0.5), quantile(f.masks, 0.99), quantile(f.masks, 1),
             quantile(f.compiles, 0.5), quantile(f.compiles, 1));
}

void print(std::string_view name, const Figures& f) {
  print_times(name, f);
  fmt::print("  slowest mask {:.1f} µs: {}\n  slowest step {:.1f} µs: {}\n", f.mask.microseconds,
             f.mask.where.substr(0, 2000), f.step.microseconds, f.step.where.substr(0, 2000));
}

RegexId pattern(Grammar& g, const char* text) { return g.regexes().parse(text, RegexSyntax::kFull).value(); }

NodeId string_of(Grammar& g, RegexId inside) {
  return g.sequence({g.text("\""), g.terminal(inside, Spelling::kJsonString), g.text("\"")});
}

NodeId any_json(Grammar& g) {
  const NodeId value = g.rule("value");
  Members members;
  members.space = g.terminal(pattern(g, "[ \\n]{0,8}"));
  members.patterns = {{g.regexes().all(), value}};
  const NodeId item = g.sequence({members.space, value, members.space});
  const NodeId array =
      g.sequence({g.text("["), g.choice({members.space, g.repeat(item, 1, -1, g.text(","))}), g.text("]")});
  g.define(value, g.choice({string_of(g, g.regexes().all()),
                            g.terminal(pattern(g, "-?(0|[1-9]\\d*)(\\.\\d+)?([eE][+-]?\\d+)?")), array,
                            g.object(members), g.text("true"), g.text("false"), g.text("null")}));
  return value;
}

NodeId person(Grammar& g) {
  Members members;
  const auto any = g.regexes().set({{0, 0x10FFFF}});
  members.named = {
      {"name", string_of(g, g.regexes().repeat(any, 1, 100)), true},
      {"email", string_of(g, pattern(g, "[\\w.+-]+@[a-z0-9-]+(\\.[a-z0-9-]+)+")), true},
      {"age", g.terminal(pattern(g, "\\d|[1-9]\\d|1[0-4]\\d")), false},
      {"tags",
       g.sequence({g.text("["), g.repeat(string_of(g, g.regexes().all()), 0, 20, g.text(", ")), g.text("]")}),
       false},
      {"role", g.choice({g.text("\"admin\""), g.text("\"user\""), g.text("\"guest\""), g.text("null")}),
       true}};
  members.space = g.terminal(pattern(g, "[ \\n]{0,8}"));
  return g.object(std::move(members));
}

// A few short replies of every schema in the file that has a grammar.
Figures suite(const char* path, int replies, const std::shared_ptr<const TokenTrie>& trie,
              const Tokenizer& tokenizer, Rng& rng) {
  Figures figures;
  std::ifstream lines(path);
  for (std::string line; std::getline(lines, line);) {
    const auto row = parse_schema(line);
    if (!row) continue;
    SchemaOptions options;
    options.nothing_is_an_error = false;
    if (row->value("draft", "") == "7") options.draft = SchemaDraft::k7;
    for (int i = 0; i < replies; ++i) {
      reply(
          [&]() -> std::shared_ptr<const Grammar> {
            auto made = grammar_from_schema((*row)["schema"], options);
            return made ? *made : nullptr;
          },
          trie, tokenizer, rng, (*row)["schema"].dump(), figures);
    }
  }
  return figures;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: bench_masks VOCABULARY.gguf [REPLIES] [SEED] [SCHEMAS.jsonl]\n");
    return 2;
  }
  const int replies = argc > 2 ? std::atoi(argv[2]) : 20;
  const uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  const auto file = gguf::File::open(argv[1]);
  if (!file) return fmt::print(stderr, "{}\n", file.error().message), 1;
  const auto spec = gguf::read_vocab(*file);
  if (!spec) return fmt::print(stderr, "{}\n", spec.error().message), 1;
  const auto tokenizer = Tokenizer::create(*spec);
  if (!tokenizer) return fmt::print(stderr, "{}\n", tokenizer.error().message), 1;
  const double begin = cpu_microseconds();
  const auto trie = TokenTrie::create(**tokenizer);
  fmt::print("{}; its tree: {:.0f} ms\n", (*tokenizer)->description(), (cpu_microseconds() - begin) * 1e-3);

  const std::pair<const char*, NodeId (*)(Grammar&)> kGrammars[] = {
      {"any JSON", any_json},
      {"a person", person},
      {"a word pattern", [](Grammar& g) { return g.terminal(pattern(g, "(\\p{L}+ )*\\p{L}+\\.")); }},
      {"lines",
       [](Grammar& g) { return g.repeat(g.terminal(pattern(g, "- .{1,80}")), 1, 50, g.text("\n")); }},
  };
  Figures all;
  for (const auto& [name, make] : kGrammars) {
    Figures figures;
    Rng rng(seed);
    for (int i = 0; i < replies; ++i) {
      reply(
          [&, build = make]() -> std::shared_ptr<const Grammar> {
            auto g = std::make_shared<Grammar>();
            const NodeId root = build(*g);
            return g->freeze(root) ? g : nullptr;
          },
          trie, **tokenizer, rng, name, figures);
    }
    print(name, figures);
    all.masks.insert(all.masks.end(), figures.masks.begin(), figures.masks.end());
    all.compiles.insert(all.compiles.end(), figures.compiles.begin(), figures.compiles.end());
  }
  print_times("all", all);
  if (argc <= 4) return 0;
  Rng rng(seed);
  print("suite", suite(argv[4], std::min(replies, 3), trie, **tokenizer, rng));
  const Json large = large_schema(5000);
  Figures figures;
  for (int i = 0; i < replies; ++i) {
    reply(
        [&]() -> std::shared_ptr<const Grammar> {
          auto made = grammar_from_schema(large);
          return made ? *made : nullptr;
        },
        trie, **tokenizer, rng, "", figures);
  }
  print(fmt::format("a schema of {} bytes", large.dump().size()), figures);
  return 0;
}
