#include "app/commands.h"
#include "app/version.h"

namespace {

using namespace brass::app;

constexpr Command kCommands[] = {
    {"eval", "logits and likelihoods of a text", "brass eval model.gguf --text-file story.txt --json",
     declare_eval},
    {"tokenize", "text to token ids and back", "brass tokenize model.gguf \"Hello, world\" --json",
     declare_tokenize},
    {"explain", "the plan that is executed, with its bytes and flops",
     "brass explain model.gguf --phase prefill:512", declare_explain},
    {"rounds", "measure on request, for comparisons", "echo \"pp 512\" | brass rounds model.gguf",
     declare_rounds},
};

}  // namespace

int main(int argc, char** argv) { return run_program(argc, argv, kCommands, version_text()); }
