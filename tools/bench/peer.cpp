// Times a llama.cpp (or, with -DPEER_IK, an ik_llama.cpp) library in rounds that another process asks for.
// Built by tools/bench/peers.py against the peer's own header, so the compiler checks its structs; no part of
// Brass.
//
//     peer MODEL THREADS FLASH_ATTENTION(0|1) CONTEXT [FOLDER with loadable CPU backends]
//
// First line out: {"system": …, "log": […]}. Then for each line in, one line out:
//     depth D the cache holds the first D tokens of the text from now on (0, and at start: none); no answer
//     pp N    one batch of N tokens behind them, logits of the last one only
//     tg N    N single-token steps after one more untimed token, logits of each
// pp and tg are answered {"tps": tokens per second}. Token ids are fixed pseudo-random ones, those of `brass rounds`:
// nothing is sampled, nothing tokenized.
#include <llama.h>

#include <algorithm>
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

constexpr int kBatch = 512;  // most tokens of one call

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
  int held = 0;  // tokens that every round begins behind

  // Only the first `held` tokens stay in the cache.
  void cut() const {
#ifdef PEER_IK
    const bool done = llama_kv_cache_seq_rm(context, 0, held, -1);
#else
    const bool done = llama_memory_seq_rm(llama_get_memory(context), 0, held, -1);
#endif
    if (!done) die("the cache cannot be cut back");
  }

  void hold(int depth) {
    held = 0;
    cut();
    for (int at = 0; at < depth; at += kBatch) decode(at, std::min(kBatch, depth - at));
    held = depth;
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
    cut();
    return timed(count, [&] { decode(held, count); });
  }

  double tg(int count) const {
    cut();
    decode(held, 1);
    return timed(count, [&] {
      for (int i = 0; i < count; ++i) decode(held + 1 + i, 1);
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

Peer open(const char* file, int threads, bool flash, int context) {
  Peer peer;
  llama_model_params model_params = llama_model_default_params();
  model_params.n_gpu_layers = 0;
  peer.model = llama_model_load_from_file(file, model_params);
  if (!peer.model) die(std::string("cannot load ") + file);
  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<std::uint32_t>(context);
  params.n_batch = kBatch;
  params.n_ubatch = kBatch;
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
  if (argc < 5) die("usage: peer MODEL THREADS FLASH_ATTENTION(0|1) CONTEXT [BACKEND_FOLDER]");
  const int context = std::atoi(argv[4]);
  if (context < kBatch) die("the context is shorter than one batch");
  llama_log_set(keep_log, nullptr);
#ifndef PEER_IK
  if (argc > 5) ggml_backend_load_all_from_path(argv[5]);
#endif
  llama_backend_init();
  Peer peer = open(argv[1], std::atoi(argv[2]), std::atoi(argv[3]) != 0, context);
  peer.pp(64);  // touches the weights and starts the threads
  peer.tg(2);
  std::cout << "{\"system\": " << quoted(llama_print_system_info()) << ", \"log\": [" << kept_log << "]}"
            << std::endl;

  std::string phase;
  int count = 0;
  while (std::cin >> phase >> count) {
    if (phase == "depth" && count >= 0 && count < context) {
      peer.hold(count);
      continue;
    }
    if (count < 1 || count > kBatch || peer.held + count >= context || (phase != "pp" && phase != "tg"))
      die("expected 'pp N' or 'tg N' with N in 1…512, or 'depth N', within the context");
    std::cout << "{\"tps\": " << (phase == "pp" ? peer.pp(count) : peer.tg(count)) << "}" << std::endl;
  }
  std::fflush(stdout);
  std::_Exit(0);  // the libraries' own teardown is not what is measured
}
