// Prints llama.cpp's logits for given token ids, as raw float32 [tokens][vocabulary], for tiny_variants.py.
// Not part of Brass. Build against a llama.cpp:
//   c++ -std=c++17 -I$LLAMA/include -I$LLAMA/ggml/include peer_logits.cpp -L$LIB -lllama -lggml -lggml-base \
//     -Wl,-rpath,$LIB -o peer_logits
// Usage: peer_logits MODEL.gguf BATCH ID...
#include <llama.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  ggml_backend_load_all();
  llama_model_params model_params = llama_model_default_params();
  llama_model* model = llama_model_load_from_file(argv[1], model_params);
  if (model == nullptr) return 1;
  const int batch_size = std::atoi(argv[2]);
  std::vector<llama_token> ids;
  for (int i = 3; i < argc; ++i) ids.push_back(std::atoi(argv[i]));

  llama_context_params params = llama_context_default_params();
  params.n_ctx = 256;
  params.n_batch = params.n_ubatch = 256;
  params.n_threads = params.n_threads_batch = 1;
  params.type_k = params.type_v = GGML_TYPE_F32;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  llama_context* context = llama_init_from_model(model, params);
  if (context == nullptr) return 1;

  const int n = static_cast<int>(ids.size());
  const int n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));
  llama_batch batch = llama_batch_init(n, 0, 1);
  for (int begin = 0; begin < n; begin += batch_size) {
    batch.n_tokens = std::min(batch_size, n - begin);
    for (int i = 0; i < batch.n_tokens; ++i) {
      batch.token[i] = ids[begin + i];
      batch.pos[i] = begin + i;
      batch.n_seq_id[i] = 1;
      batch.seq_id[i][0] = 0;
      batch.logits[i] = 1;
    }
    if (llama_decode(context, batch) != 0) return 1;
    for (int i = 0; i < batch.n_tokens; ++i)
      std::fwrite(llama_get_logits_ith(context, i), sizeof(float), static_cast<size_t>(n_vocab), stdout);
  }
  return 0;
}
