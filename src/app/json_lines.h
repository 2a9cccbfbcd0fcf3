// One JSON value a line in, one a line out, until the input ends: how a program keeps a command open.
//
// Owns: reading lines as they come, an answer for each (flushed at once), {"error": ...} where there is none.
// Must not know: what is asked. Invariants: as many answers as lines; a bad line does not end the process.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"

namespace brass::app {

using AnswerLine = std::function<Result<nlohmann::ordered_json>(const nlohmann::ordered_json& request)>;
using AnswerText = std::function<Result<nlohmann::ordered_json>(const std::string& line)>;

// `path`: "-" for standard input. Fails where lines cannot be read or answers not be written.
Result<> answer_lines(const std::string& path, const AnswerLine& answer);
// The same for who reads the line otherwise (numbers of any length, say).
Result<> answer_texts(const std::string& path, const AnswerText& answer);

}  // namespace brass::app
