// The conversation on a terminal.
#include <iostream>

#include "app/chat_session.h"
#include "app/line_editor.h"
#include "app/terminal.h"

namespace brass::app {
namespace {

constexpr const char* kHelp =
    "  /help            this list\n"
    "  /clear           forget the conversation\n"
    "  /stats           both numbers of the last reply\n"
    "  /set             the settings; /set NAME VALUE changes one\n"
    "  /exit            leave (Ctrl-D does too)\n"
    "A \\ at the end of a line, or text between \"\"\" and \"\"\", goes on over several lines. Ctrl-C stops "
    "a reply.\n";

void print_stats(const ChatSession& session) {
  if (session.last() == nullptr)
    std::cout << "There is no reply yet.\n";
  else
    std::cout << describe_timings(*session.last()) << '\n';
}

void change_setting(ChatSession& session, const std::string& words) {
  const size_t space = words.find_first_of(" \t");
  if (words.empty()) {
    std::cout << list_settings(session.flags());
    return;
  }
  const std::string value =
      space == std::string::npos ? "" : words.substr(words.find_first_not_of(" \t", space));
  const Result<> done = set_by_name(session.flags(), words.substr(0, space), value);
  std::cout << (done ? "ok" : done.error().message) << '\n';
}

// A line that begins with '/'. False: the conversation is over.
bool run_slash(ChatSession& session, const std::string& line) {
  const size_t space = line.find_first_of(" \t");
  const std::string word = line.substr(0, space);
  const size_t rest = space == std::string::npos ? std::string::npos : line.find_first_not_of(" \t", space);
  if (word == "/exit" || word == "/quit" || word == "/bye") return false;
  if (word == "/help") {
    std::cout << kHelp;
  } else if (word == "/clear") {
    session.clear();
    std::cout << "The conversation is forgotten.\n";
  } else if (word == "/stats") {
    print_stats(session);
  } else if (word == "/set") {
    change_setting(session, rest == std::string::npos ? "" : line.substr(rest));
  } else {
    std::cout << "There is no " << word << "; /help lists what there is.\n";
  }
  return true;
}

void reply(ChatSession& session, const std::string& line) {
  clear_interrupt();
  const Result<const Generation*> done = session.answer(line, [](std::string_view text) {
    std::cout << text << std::flush;
    return !interrupted();
  });
  std::cout << '\n';
  if (!done) {
    std::cout << "brass: " << done.error().message << '\n';
    if (!done.error().hint.empty()) std::cout << "  hint: " << done.error().hint << '\n';
  } else if ((*done)->finish() == Finish::kLength) {
    std::cout << "(cut: the token limit or the end of the context is reached)\n";
  }
}

}  // namespace

Result<> talk(ChatSession& session, const RunFlags& flags) {
  const Result<std::string> history = history_path();
  if (!history) std::cout << "What you type is not kept for next time: " << history.error().message << '\n';
  const std::unique_ptr<LineEditor> editor = TRY(LineEditor::open(history ? *history : ""));
  std::cout << flags.model.model << " on " << session.engine().device().describe()
            << ". /help lists the commands.\n";
  while (const std::optional<std::string> line = editor->read("> ")) {
    if (line->find_first_not_of(" \t\n") == std::string::npos) continue;
    if (line->front() == '/') {
      if (!run_slash(session, *line)) break;
      continue;
    }
    reply(session, *line);
  }
  return {};
}

}  // namespace brass::app
