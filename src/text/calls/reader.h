// Reads calls in a format: the routines behind CallParser.
//
// Owns: CallReader: from behind the mark of a call to its end. Must not know: what stands between calls (parser.cpp).
// Invariants: a routine that returns false has read something that is no call; what it read is in the source's record
// since the mark, which is set anew after each complete call. A call is complete where its own block ends.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "text/calls/format.h"
#include "text/calls/marks.h"
#include "text/calls/message.h"
#include "text/calls/tools.h"
#include "text/calls/value.h"

namespace brass::calls {

class CallReader {
 public:
  CallReader(const CallFormat& format, const ToolSet& tools, Source& source, Outbox& outbox, uint64_t seed)
      : format_(format),
        tools_(tools),
        source_(source),
        outbox_(outbox),
        values_(source, {format.quote}),
        ids_(seed) {}

  // Behind section_begin: calls up to section_end.
  Routine<bool> section();
  // Behind call_begin: a call, or a list of calls, and call_end.
  Routine<bool> call();
  // Behind name_begin, where the mark before it was left out.
  Routine<bool> call_without_mark();
  // At the first byte of a call without any mark.
  Routine<bool> bare();
  // The start of a reply whose mark is in the prompt, or behind that mark: NAME{arguments}, or content_name and a line
  // break, and text to the user follows (*content).
  Routine<bool> named(bool* content);
  // The arguments of a call whose name came before.
  Routine<bool> body(const std::string& name);

  // Sends what of the arguments has not been sent.
  void flush();

 private:
  struct Head {
    std::string name, id;
  };
  // What an object that is a call has said so far.
  struct Members {
    std::string name, id;
    bool has_arguments = false;
    bool strange = false;  // it has other members, too
  };

  Routine<bool> expect(std::string_view mark);
  Routine<int> expect_any(const std::vector<std::string>& marks);
  Routine<std::string> name_run();
  Routine<std::string> text_before(char end);

  Routine<bool> unit(bool in_section);
  Routine<bool> list();

  Routine<bool> object_call();
  Routine<bool> members(Members& call, int depth);
  Routine<bool> member(Members& call, const std::string& key, int depth);
  Routine<bool> arguments_member(Members& call);
  Routine<bool> text_member(std::string& out);

  Routine<bool> header_call(bool in_section, bool marked);
  Routine<bool> head(Head& out);
  Routine<bool> parameters(const std::string& tool, bool in_section, bool marked);
  Routine<bool> parameter(const std::string& tool, const std::vector<std::string>& follow);
  Routine<bool> raw_text(std::string& out, bool escape, const std::string& end,
                         const std::vector<std::string>& follow);
  Routine<bool> skip_exactly(std::string_view text);
  // A value whose objects and lists are written in marks of parameters (reader_tags.cpp), and its end.
  Routine<bool> tagged_value(std::string& out, const ValueSchema& schema, const std::string& end,
                             const std::vector<std::string>& after, int depth);
  Routine<bool> tagged_parts(std::string& out, const ValueSchema& schema, const std::string& end, int depth);
  Routine<bool> begins_part();
  Routine<bool> python_call();

  Fit fits_parameter(std::string_view text) const;
  bool names_parameter(std::string_view written) const;
  void open(std::string id, std::string name);
  void close();
  std::string make_id();
  void split_name(Head& head) const;

  const CallFormat& format_;
  const ToolSet& tools_;
  Source& source_;
  Outbox& outbox_;
  ValueReader values_;
  Rng ids_;
  std::string arguments_;  // of the current call, as far as they are read
  size_t sent_ = 0;
  bool bare_ = false;  // the call has no mark: it must be one beyond doubt
};

}  // namespace brass::calls
