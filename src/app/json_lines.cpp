#include "app/json_lines.h"

#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "text/json_guard.h"

namespace brass::app {

namespace {

using Json = nlohmann::ordered_json;

Json answer_to(const std::string& line, const AnswerLine& answer) {
  const Result<Json> request = parse_json(line);
  Result<Json> made = request ? answer(*request) : std::unexpected(request.error());
  if (made) return std::move(*made);
  Json error = {{"error", made.error().message}};
  if (!made.error().hint.empty()) error["hint"] = made.error().hint;
  return error;
}

}  // namespace

Result<> answer_lines(const std::string& path, const AnswerLine& answer) {
  std::ifstream file;
  if (path != "-") {
    file.open(path, std::ios::binary);
    if (!file) return fail("{}: cannot be opened", path);
  }
  std::istream& in = path == "-" ? std::cin : file;
  for (std::string line; std::getline(in, line);) {
    // Text may hold parts of characters (pieces, templates that cut bytes): shown with replacement characters.
    std::cout << answer_to(line, answer).dump(-1, ' ', false, Json::error_handler_t::replace) << '\n'
              << std::flush;
    if (!std::cout) return fail("standard output: cannot be written");
  }
  if (in.bad()) return fail("{}: cannot be read", path);
  return {};
}

}  // namespace brass::app
