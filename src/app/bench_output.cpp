#include <filesystem>

#include "app/bench_flags.h"
#include "base/output_file.h"

namespace brass::app {

Result<> write_out(const std::string& out, const std::string& name, const std::string& content) {
  std::error_code error;
  std::filesystem::create_directories(out, error);
  if (error) return fail("flag --out: {} cannot be made: {}", out, error.message());
  OutputFile file = TRY(OutputFile::create((std::filesystem::path(out) / name).string()));
  TRY_VOID(file.write(std::as_bytes(std::span(content))));
  return file.commit();
}

}  // namespace brass::app
