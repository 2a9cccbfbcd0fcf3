// Times a llama.cpp (or, with -DPEER_IK, an ik_llama.cpp) library in rounds that another process asks for.
// Built by tools/bench/peers.py against the peer's own header, so the compiler checks its structs; no part of
// Brass.
//
//     peer MODEL THREADS FLASH_ATTENTION(0|1) [FOLDER with loadable CPU backends]
//
// First line out: {"system": …, "log": […]}. Then for each line in, one line out:
//     pp N    one batch of N tokens into an empty cache, logits of the last one only
//     tg N    N single-token steps after an untimed one-token prompt, logits of each
// answered {"tps": tokens per second}. Token ids are fixed pseudo-random ones: nothing is sampled, nothing
// tokenized.
#include <llama.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#ifndef PEER_IK
#include <ggml-backend.h>
#include <ggml-cpu.h>
#endif

namespace {

constexpr int kPrompt = 1;  // tokens before the timed steps of tg
constexpr int kContext = 1024;

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "peer: %s\n", what.c_str());
  std::exit(1);
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out + "\"";
}

// The lines that say which code path the library took, of all that it logs.
std::string kept_log;

void keep_log(ggml_log_level, const char* text, void*) {
  static std::string line;
  line += text;
  if (line.empty() || line.back() != '\n') return;
  for (const char* word : {"buffer size", "CPU backend", "flash_attn"}) {
    if (line.find(word) == std::string::npos) continue;
    if (!kept_log.empty()) kept_log += ", ";
    kept_log += quoted(line);
    break;
  }
  line.clear();
}

struct Peer {
  llama_model* model = nullptr;
  llama_context* context = nullptr;
  int vocab = 0;

  void clear() const {
#ifdef PEER_IK
    llama_kv_cache_clear(context);
#else
    llama_memory_clear(llama_get_memory(context), false);
#endif
  }

  // Tokens [position, position + count) of the pseudo-random text, as one batch.
  void decode(int position, int count) const {
    std::vector<llama_token> ids(count);
    for (int i = 0; i < count; ++i) {
      const std::uint32_t hash = static_cast<std::uint32_t>(position + i + 1) * 2654435761u;
      ids[i] = static_cast<llama_token>((hash >> 8) % static_cast<std::uint32_t>(vocab));
    }
#ifdef PEER_IK
    const llama_batch batch = llama_batch_get_one(ids.data(), count, position, 0);
#else
    const llama_batch batch = llama_batch_get_one(ids.data(), count);
#endif
    if (llama_decode(context, batch) != 0) die("llama_decode failed");
    if (llama_get_logits_ith(context, -1) == nullptr) die("no logits");
  }

  double pp(int count) const {
    clear();
    return timed(count, [&] { decode(0, count); });
  }

  double tg(int count) const {
    clear();
    decode(0, kPrompt);
    return timed(count, [&] {
      for (int i = 0; i < count; ++i) decode(kPrompt + i, 1);
    });
  }

  template <class Work>
  static double timed(int count, Work work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return count / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
};

#ifndef PEER_IK
// llama.cpp's own benchmark attaches a thread pool that lasts; without one, builds that have no OpenMP
// start threads anew for every graph.
void attach_threads(llama_context* context, int threads) {
  ggml_backend_reg_t cpu =
      ggml_backend_dev_backend_reg(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU));
  auto* create = reinterpret_cast<decltype(ggml_threadpool_new)*>(
      ggml_backend_reg_get_proc_address(cpu, "ggml_threadpool_new"));
  ggml_threadpool_params params = ggml_threadpool_params_default(threads);
  ggml_threadpool* pool = create ? create(&params) : nullptr;
  if (!pool) die("no thread pool");
  llama_attach_threadpool(context, pool, pool);
}
#endif

Peer open(const char* file, int threads, bool flash) {
  Peer peer;
  llama_model_params model_params = llama_model_default_params();
  model_params.n_gpu_layers = 0;
  peer.model = llama_model_load_from_file(file, model_params);
  if (!peer.model) die(std::string("cannot load ") + file);
  llama_context_params params = llama_context_default_params();
  params.n_ctx = kContext;
  params.n_batch = 512;
  params.n_ubatch = 512;
  params.n_threads = threads;
  params.n_threads_batch = threads;
#ifdef PEER_IK
  params.flash_attn = flash;
#else
  params.flash_attn_type = flash ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
#endif
  peer.context = llama_init_from_model(peer.model, params);
  if (!peer.context) die("no context");
  peer.vocab = llama_vocab_n_tokens(llama_model_get_vocab(peer.model));
#ifndef PEER_IK
  attach_threads(peer.context, threads);
#endif
  return peer;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) die("usage: peer MODEL THREADS FLASH_ATTENTION(0|1) [BACKEND_FOLDER]");
  llama_log_set(keep_log, nullptr);
#ifndef PEER_IK
  if (argc > 4) ggml_backend_load_all_from_path(argv[4]);
#endif
  llama_backend_init();
  const Peer peer = open(argv[1], std::atoi(argv[2]), std::atoi(argv[3]) != 0);
  peer.pp(64);  // touches the weights and starts the threads
  peer.tg(2);
  std::cout << "{\"system\": " << quoted(llama_print_system_info()) << ", \"log\": [" << kept_log << "]}"
            << std::endl;

  std::string phase;
  int count = 0;
  while (std::cin >> phase >> count) {
    if (count < 1 || count > 512 || (phase != "pp" && phase != "tg"))
      die("expected 'pp N' or 'tg N' with N in 1…512");
    std::cout << "{\"tps\": " << (phase == "pp" ? peer.pp(count) : peer.tg(count)) << "}" << std::endl;
  }
  std::fflush(stdout);
  std::_Exit(0);  // the libraries' own teardown is not what is measured
}
