#include "app/arguments.h"

#include <fcntl.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <iostream>

namespace brass::app {

void Arguments::operand(const std::string& name, std::string& value, const std::string& help, bool required) {
  CLI::Option* option = app_.add_option(name, value, help);
  if (required) option->required();
}

void Arguments::operands(const std::string& name, std::vector<std::string>& values, const std::string& help) {
  app_.add_option(name, values, help);
}

void Arguments::flag(const std::string& name, bool& value, const std::string& help) {
  app_.add_flag(name, value, help);
}

template <class T>
void Arguments::option(const std::string& name, T& value, const std::string& help) {
  CLI::Option* option = app_.add_option(name, value, help);
  if constexpr (std::is_same_v<T, std::vector<std::string>>)
    option->allow_extra_args(false);
  else
    option->capture_default_str();
}

template void Arguments::option(const std::string&, std::string&, const std::string&);
template void Arguments::option(const std::string&, uint32_t&, const std::string&);
template void Arguments::option(const std::string&, int&, const std::string&);
template void Arguments::option(const std::string&, uint64_t&, const std::string&);
template void Arguments::option(const std::string&, float&, const std::string&);
template void Arguments::option(const std::string&, std::vector<std::string>&, const std::string&);
template void Arguments::option(const std::string&, std::optional<std::string>&, const std::string&);
template void Arguments::option(const std::string&, std::optional<uint64_t>&, const std::string&);
template void Arguments::option(const std::string&, std::optional<uint32_t>&, const std::string&);

void Arguments::choice(const std::string& name, std::string& value, const std::vector<std::string>& words,
                       const std::string& help) {
  app_.add_option(name, value, help)->check(CLI::IsMember(words))->capture_default_str();
}

namespace {

void print_error(const Error& error) {
  std::fprintf(stderr, "brass: %s\n", error.message.c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "  hint: %s\n", error.hint.c_str());
}

// Where a standard stream was closed, the next file that is opened would take its number, and what is printed would
// go into that file: something that can be neither read nor written takes its place.
void keep_standard_streams() {
  for (const int stream : {0, 1, 2})
    if (fcntl(stream, F_GETFD) == -1 && errno == EBADF) open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY);
}

// What is still to be written is: only then is it known to have arrived.
Result<> flush_output() {
  std::cout.flush();
  if (!std::cout || std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    return fail("standard output: cannot be written");
  return {};
}

// A word after flags that looks like flags: "-hello" is no wish for help.
const char* dashed_word(std::span<char* const> words) {
  for (const char* word : words) {
    const std::string_view text = word;
    if (text == "--") break;
    if (text.size() > 2 && text.starts_with("-h")) return word;
  }
  return nullptr;
}

constexpr const char* kDashedHint =
    "  hint: a text that begins with '-' goes behind '--', or into a flag as --flag=TEXT\n";

int run_body(const Body& body) {
  try {
    Result<> result = body();
    if (result) result = flush_output();
    if (result) return 0;
    print_error(result.error());
    return result.error().wrong_use ? 2 : 1;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "brass: out of memory\n");
  } catch (const std::exception& e) {
    std::fprintf(stderr, "brass: %s\n", e.what());
  }
  return 1;
}

}  // namespace

int run_program(int argc, char** argv, std::span<const Command> commands, const std::string& version) {
  keep_standard_streams();
  CLI::App app("A local LLM engine that is fast, right, and honest about where the time goes.", "brass");
  app.set_version_flag("--version", version);
  app.require_subcommand(1);
  app.footer("Exit codes: 0 done, 1 failed, 2 wrong use. 'brass COMMAND --help' shows a command's flags.");
  std::vector<std::pair<CLI::App*, Body>> bodies;
  for (const Command& command : commands) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    sub->footer(std::string("Example:\n  ") + command.example);
    Arguments arguments(*sub);
    bodies.emplace_back(sub, command.declare(arguments));
  }
  const std::span<char* const> words(argv + 1, argc > 0 ? static_cast<size_t>(argc - 1) : 0);
  if (const char* word = dashed_word(words)) {
    std::fprintf(stderr, "The following argument was not expected: %s\n%s", word, kDashedHint);
    return 2;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);  // --help, --version
  } catch (const CLI::ParseError& e) {
    app.exit(e);
    const auto dashed = [](std::string_view w) { return w.size() > 1 && w[0] == '-' && w[1] != '-'; };
    if (std::ranges::any_of(words, dashed)) std::fprintf(stderr, "%s", kDashedHint);
    return 2;
  }
  for (const auto& [sub, body] : bodies)
    if (sub->parsed()) return run_body(body);
  return 2;
}

Result<std::vector<int32_t>> parse_ids(std::string_view text, std::string_view flag) {
  std::vector<int32_t> ids;
  const auto skip = [&] {
    while (!text.empty() && std::string_view(" \t\r\n,[]").contains(text.front())) text.remove_prefix(1);
  };
  for (skip(); !text.empty(); skip()) {
    int32_t id = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), id);
    if (fault != std::errc() || id < 0)
      return wrong_use("{}: '{}' is not a token id", flag, text.substr(0, std::min<size_t>(text.size(), 20)));
    ids.push_back(id);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
  }
  return ids;
}

}  // namespace brass::app
