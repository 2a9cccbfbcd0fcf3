// How fast vocabularies turn text into ids and back, and that no text makes them slow.
//
//   bench_tokenize VOCABULARY.gguf TEXT_FILE...
//
// For each text: megabytes a second on one thread, CPU time, the best of five rounds over the whole file (encoding all of it at
// once, decoding its ids). Then the longest time for 1 MB of one letter, over several kinds of letters.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "gguf/vocab.h"
#include "text/tokenizer.h"

namespace {

// Of this thread: what others do on the machine does not count.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

template <class F>
double best_seconds(int rounds, const F& run) {
  double best = 1e9;
  for (int i = 0; i < rounds; i++) {
    const double start = cpu_seconds();
    run();
    best = std::min(best, cpu_seconds() - start);
  }
  return best;
}

brass::Result<std::unique_ptr<brass::Tokenizer>> open(const std::string& path) {
  const brass::gguf::File file = TRY(brass::gguf::File::open(path));
  return brass::Tokenizer::create(TRY(brass::gguf::read_vocab(file)));
}

void measure(const brass::Tokenizer& tokenizer, const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream read;
  read << in.rdbuf();
  const std::string text = read.str();
  const double megabytes = static_cast<double>(text.size()) * 1e-6;
  std::vector<int32_t> ids;
  std::string back;
  const double encode = best_seconds(5, [&] { ids = tokenizer.encode(text); });
  const double decode = best_seconds(5, [&] { back = tokenizer.decode(ids, false); });
  fmt::print("{:32} {:6.2f} MB {:9} ids  encode {:7.1f} MB/s  decode {:7.1f} MB/s\n",
             std::filesystem::path(path).filename().string(), megabytes, ids.size(), megabytes / encode,
             static_cast<double>(back.size()) * 1e-6 / decode);
}

void measure_letters(const brass::Tokenizer& tokenizer) {
  double worst = 0;
  std::string slowest;
  for (const std::string letter : {"a",
                                   "A",
                                   "e",
                                   "z",
                                   "0",
                                   "7",
                                   " ",
                                   "\n",
                                   "\t",
                                   "!",
                                   "'",
                                   "-",
                                   "_",
                                   "é",
                                   "\xCC\x81",
                                   "я",
                                   "ß",
                                   "ا",
                                   "ก",
                                   "あ",
                                   "中",
                                   "한",
                                   "　",
                                   "🦙",
                                   "\xF3\xA0\x81\x81",
                                   "\xEE\x80\x80",
                                   "\xFF",
                                   "\x01",
                                   "\xE2\x96\x81"}) {
    std::string text;
    while (text.size() < 1'000'000) text += letter;
    const double seconds = best_seconds(1, [&] { tokenizer.encode(text); });
    if (seconds <= worst) continue;
    worst = seconds;
    slowest = letter;
  }
  fmt::print("1 MB of one letter: at most {:.3f} s (of '{}')\n", worst, slowest);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: bench_tokenize VOCABULARY.gguf TEXT_FILE...\n");
    return 2;
  }
  const auto tokenizer = open(argv[1]);
  if (!tokenizer) {
    fmt::print(stderr, "{}: {}\n", argv[1], tokenizer.error().message);
    return 1;
  }
  fmt::print("{}: {}\n", argv[1], (*tokenizer)->description());
  for (int i = 2; i < argc; i++) measure(**tokenizer, argv[i]);
  measure_letters(**tokenizer);
}
