// Values whose objects and lists are written in marks of parameters: <point><x>1</x></point>, <list><item>a</item></list>.
#include <utility>

#include "text/calls/marks.h"
#include "text/calls/reader.h"
#include "text/json_guard.h"

namespace brass::calls {

// Whether the mark of a part comes, behind blanks. It is taken then, else nothing is.
Routine<bool> CallReader::begins_part() {
  std::string blanks;
  co_await values_.blanks(&blanks);
  const std::string& begin = format_.parameter.begin;
  const bool begun = co_await skip_exactly(begin);
  if (begun) {
    const int c = co_await source_.peek();
    if (c != '/') co_return true;
    source_.unread(begin);
  }
  source_.unread(blanks);
  co_return false;
}

// What is no string may be written in parts. A text without any is read by its schema; nothing is an empty list or object.
Routine<bool> CallReader::tagged_value(std::string& out, const ValueSchema& schema, const std::string& end,
                                       const std::vector<std::string>& after, int depth) {
  const Types types = schema.types();
  if (!types.only_string()) {
    const bool parts = co_await begins_part();
    if (parts) co_return co_await tagged_parts(out, schema, end, depth);
  }
  std::string text;
  const bool read = co_await raw_text(text, false, end, after);
  if (!read) co_return false;
  const bool composite = (types.array || types.object) && !types.string;
  if (composite && trimmed(text).empty())
    out += types.array ? "[]" : "{}";
  else
    out += schema.read(text);
  co_return true;
}

// Behind the mark of the first part, to the end of the value.
Routine<bool> CallReader::tagged_parts(std::string& out, const ValueSchema& schema, const std::string& end,
                                       int depth) {
  if (depth >= kMaxJsonDepth) co_return false;
  const ParameterMarks& marks = format_.parameter;
  const Types types = schema.types();
  const std::vector<std::string> next = {marks.begin, end};
  const std::vector<std::string> behind(1, end);
  bool list = false;
  for (bool first = true;; first = false) {
    const std::string written = co_await text_before(marks.name_end[0]);
    const std::string name(trimmed(written));
    const bool named = co_await expect(marks.name_end);
    if (!named || name.empty() || !names_parameter(name)) co_return false;
    if (first) {
      list = types.array != types.object ? types.array : name == marks.item;
      out += list ? '[' : '{';
    } else {
      out += ", ";
    }
    if (!list) out.append(quoted_json(name)).append(": ");
    const ValueSchema part = list ? schema.item() : schema.member(name);
    const std::string part_end = with_name(marks.end, name);
    const bool read = co_await tagged_value(out, part, part_end, behind, depth + 1);
    if (!read) co_return false;
    const int mark = co_await expect_any(next);
    if (mark < 0) co_return false;
    if (mark == 1) break;
  }
  out += list ? ']' : '}';
  co_return true;
}

}  // namespace brass::calls
