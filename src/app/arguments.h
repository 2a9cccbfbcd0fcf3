// A command's flags and operands, declared once: parsing, help, and errors come from the declaration.
//
// Owns: the boundary to the command line library, which is included in arguments.cpp only.
// Must not know: what any command does.
// Invariants: wrong use (unknown flag, bad value, missing operand) exits with 2 and says which flag; --help
// with 0. Nothing exits with 0 whose output did not arrive.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
}

namespace brass::app {

class Arguments {
 public:
  explicit Arguments(CLI::App& app) : app_(app) {}

  void operand(const std::string& name, std::string& value, const std::string& help, bool required = true);
  void operands(const std::string& name, std::vector<std::string>& values,
                const std::string& help);  // any number
  void flag(const std::string& name, bool& value, const std::string& help);
  // T: std::string, uint32_t, int, int64_t, uint64_t, float, std::vector<std::string>, std::optional of those
  template <class T>
  void option(const std::string& name, T& value, const std::string& help);
  // One of the given words.
  void choice(const std::string& name, std::string& value, const std::vector<std::string>& words,
              const std::string& help);

 private:
  CLI::App& app_;
};

using Body = std::function<Result<>()>;

struct Command {
  const char* name;
  const char* summary;
  const char* example;
  Body (*declare)(Arguments& arguments);
};

// Parses, runs the command that was named, prints its error. Returns the exit code: 0, 1 (it failed), 2
// (wrong use).
int run_program(int argc, char** argv, std::span<const Command> commands, const std::string& version);

// "1,2,3" (blanks and brackets allowed) as ids.
Result<std::vector<int32_t>> parse_ids(std::string_view text, std::string_view flag);

}  // namespace brass::app
