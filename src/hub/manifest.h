// What the store knows about one model: models/NAME.json.
//
// Owns: the JSON form and its checks: a manifest is input like any other (people edit, disks rot).
// Must not know: where the store is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace brass::hub {

// Tells whether a file was touched since its hash was last computed. A stored file may share its inode with
// the user's own (hard link), so an overwrite in place changes the stored one too.
struct Identity {
  uint64_t inode = 0;
  uint64_t bytes = 0;
  int64_t modified_ns = 0;  // since 1970
  bool operator==(const Identity&) const = default;
};

struct StoredFile {
  std::string name;    // plain file name, as it was imported
  std::string sha256;  // 64 lower-case hexadecimal digits
  Identity identity;   // when the hash was last seen to be right
};

struct Model {
  std::string name;
  std::string imported;           // UTC, "2025-01-31T12:00:00Z"
  std::vector<StoredFile> files;  // one, or the parts of a split file in order
  std::string sha256;             // of the model: the file's; of several: SHA-256 of their hashes, one a line

  uint64_t bytes() const;
};

std::string model_sha256(const std::vector<StoredFile>& files);

// An error if a file's name is not UTF-8: JSON could not hold it.
Result<std::string> to_json(const Model& model);
// Errors name the field. `name`: what the manifest's own file name says.
Result<Model> parse_manifest(const std::string& text, const std::string& name);

}  // namespace brass::hub
