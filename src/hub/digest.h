// SHA-256 of files and bytes, as 64 lower-case hexadecimal digits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace brass::hub {

// Called now and then by long work: bytes done and bytes in all.
using Progress = std::function<void(uint64_t done, uint64_t total)>;

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  void add(std::span<const std::byte> bytes);
  std::string finish();  // once

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

// 64 hexadecimal digits, either case, with or without "sha256:" or "sha256-" before them.
Result<std::string> parse_sha256(std::string_view text);

// Reads the open file from its start to its end in pieces; `each` sees every piece in order (it may copy
// them).
Result<std::string> hash_file(int fd, const std::string& path,
                              const std::function<void(uint64_t bytes)>& advance,
                              const std::function<Result<>(std::span<const std::byte>)>& each = {});

}  // namespace brass::hub
