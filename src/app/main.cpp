#include "app/commands.h"
#include "app/version.h"

namespace {

using namespace brass::app;

constexpr Command kCommands[] = {
    {"run", "answer a prompt, or talk", "brass run smollm2 \"What is the capital of France?\"", declare_run},
    {"import", "put a model file into the store",
     "brass import SmolLM2-135M-Instruct.Q4_1.gguf --name smollm2", declare_import},
    {"list", "the models in the store", "brass list --json", declare_list},
    {"show", "what is in a model file", "brass show smollm2 --tensors", declare_show},
    {"rm", "remove a model from the store", "brass rm smollm2", declare_rm},
    {"tokenize", "text to token ids and back", "brass tokenize smollm2 \"Hello, world\" --json",
     declare_tokenize},
    {"render", "a chat template's prompt text", "brass render smollm2 --messages chat.json", declare_render},
    {"parse", "what a model wrote, as a message with its tool calls",
     "brass parse smollm2 --text-file reply.txt --tools tools.json", declare_parse},
    {"grammar", "a JSON Schema as a grammar", "brass grammar check schema.json --instance reply.json",
     declare_grammar},
    {"eval", "logits and likelihoods of a text", "brass eval smollm2 --text-file story.txt --json",
     declare_eval},
    {"embed", "texts to vectors", "brass embed nomic-embed \"search_query: tides\" --json", declare_embed},
    {"explain", "the plan that is executed, with its bytes and flops",
     "brass explain smollm2 --phase prefill:512", declare_explain},
    {"devices", "what there is to compute on", "brass devices", declare_devices},
    {"bench", "two numbers, where every byte goes, what each lever would buy", "brass bench smollm2",
     declare_bench},
    {"rounds", "measure on request, for comparisons", "echo \"pp 512 tg 64\" | brass rounds smollm2",
     declare_rounds},
};

}  // namespace

int main(int argc, char** argv) { return run_program(argc, argv, kCommands, version_text()); }
