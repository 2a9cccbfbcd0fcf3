#include "app/json_lines.h"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "text/json_guard.h"

namespace brass::app {

namespace {

using Json = nlohmann::ordered_json;

Json answer_to(const std::string& line, const AnswerText& answer) {
  Result<Json> made = answer(line);
  if (made) return std::move(*made);
  Json error = {{"error", made.error().message}};
  if (!made.error().hint.empty()) error["hint"] = made.error().hint;
  return error;
}

}  // namespace

Result<> answer_lines(const std::string& path, const AnswerLine& answer) {
  return answer_texts(
      path, [&](const std::string& line) -> Result<Json> { return answer(TRY(parse_json_exact(line))); });
}

Result<> answer_texts(const std::string& path, const AnswerText& answer) {
  std::ifstream file;
  if (path != "-") {
    std::error_code unknown;
    if (std::filesystem::is_directory(path, unknown)) return fail("{}: is a folder, not a file", path);
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
