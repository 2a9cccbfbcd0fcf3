#include "hub/digest.h"

#include <openssl/evp.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/check.h"

namespace brass::hub {

struct Sha256::Context {
  EVP_MD_CTX* evp = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(evp); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  ENSURE(context_->evp != nullptr && EVP_DigestInit_ex(context_->evp, EVP_sha256(), nullptr) == 1);
}

Sha256::~Sha256() = default;

void Sha256::add(std::span<const std::byte> bytes) {
  ENSURE(EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size()) == 1);
}

std::string Sha256::finish() {
  std::array<unsigned char, 32> digest{};
  ENSURE(EVP_DigestFinal_ex(context_->evp, digest.data(), nullptr) == 1);
  std::string out;
  for (const unsigned char byte : digest) out += fmt::format("{:02x}", byte);
  return out;
}

Result<std::string> parse_sha256(std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with("sha256:") || digits.starts_with("sha256-")) digits.remove_prefix(7);
  std::string out;
  for (const char c : digits) {
    const char lower = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
    if ((lower < '0' || lower > '9') && (lower < 'a' || lower > 'f')) break;
    out += lower;
  }
  if (digits.size() != 64 || out.size() != 64)
    return fail("'{}' is not a SHA-256: 64 hexadecimal digits", text);
  return out;
}

Result<std::string> hash_file(int fd, const std::string& path, const std::function<void(uint64_t)>& advance,
                              const std::function<Result<>(std::span<const std::byte>)>& each) {
  Sha256 sha;
  std::vector<std::byte> buffer(4 << 20);
  for (off_t at = 0;;) {
    const ssize_t got = pread(fd, buffer.data(), buffer.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail("{}: cannot be read: {}", path, std::strerror(errno));
    if (got == 0) return sha.finish();
    const std::span<const std::byte> piece(buffer.data(), static_cast<size_t>(got));
    sha.add(piece);
    if (each) TRY(each(piece));
    advance(piece.size());
    at += got;
  }
}

}  // namespace brass::hub
