// The model store: models by name, kept by hash.
//
// Owns: a folder with
//   models/NAME.json            what is in the store (manifest.h)
//   blobs/sha256-HASH/FILE…     the files of a model under their own names (parts of a split file side by
//   side) staging/…                   imports under way, each with a lock held by its process lock taken for
//   the short moments when models/ or blobs/ change
// Must not know: what is inside a model file (a check is handed in), the terminal.
// Invariants: a model is listed only if all its files are there with their full sizes; a process that dies at
// any point leaves at worst a staging folder or a blob without a manifest, both removed by the next import or
// remove. Any number of processes may use a store at once.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "hub/digest.h"
#include "hub/manifest.h"
#include "hub/stage.h"

namespace brass::hub {

struct ImportOptions {
  std::string name;                          // empty: from the file name
  std::vector<std::string> expected_sha256;  // empty, or one a file (parts in order)
  bool copy = false;                         // never share bytes with the user's file
  Progress progress;                         // bytes hashed; may be empty
  std::function<Result<>(const std::string& path)>
      check;  // is it a model? Called with the first file; may be empty
};

struct Imported {
  Model model;
  Shared how = Shared::kCopied;
  bool already_there = false;  // nothing changed
};

struct Listing {
  std::vector<Model> models;  // by name
  std::vector<std::string>
      problems;  // manifests that cannot be read, models whose files are gone: one sentence each
};

class Store {
 public:
  // $XDG_DATA_HOME/brass, else ~/.local/share/brass.
  static Result<std::string> default_folder();
  // The folder is made by the first import.
  explicit Store(std::string folder) : folder_(std::move(folder)) {}
  const std::string& folder() const { return folder_; }

  // Any part of a split file imports all of them.
  Result<Imported> import_file(const std::string& path, const ImportOptions& options) const;
  Result<Listing> list() const;
  Result<> remove(const std::string& name) const;  // the exact name only

  // By name, or by the front of a name that no other has. Case does not matter.
  Result<Model> find(const std::string& name) const;
  // The path of a stored model's (first) file. If it was touched since its hash was computed, computes it
  // again.
  Result<std::string> path_of(const Model& model, const Progress& progress = {}) const;
  // What a user types for a model: a path if it has a '/' or ends in .gguf, or names no stored model but a
  // file.
  Result<std::string> resolve(const std::string& name_or_path, const Progress& progress = {}) const;
  // Hashes a model's files again, whatever their dates say.
  Result<> verify(const std::string& name, const Progress& progress = {}) const;

 private:
  struct Source;  // the files of one import
  std::string blob_folder(const std::string& sha256) const;
  std::string manifest_path(const std::string& name) const;
  std::vector<std::string> names() const;
  Result<Model> load(const std::string& name) const;
  Result<> check_whole(const Model& model) const;
  bool is_untouched(const Model& model) const;
  Result<Model> rehash(Model model, const Progress& progress) const;
  Result<> write_manifest(const Model& model) const;  // the lock is held, as in the next ones
  Result<> put_blob(Model& model, const std::string& staged) const;
  Result<Imported> commit(Imported imported, const std::string& staged) const;
  void remove_leftovers() const;

  std::string folder_;
};

}  // namespace brass::hub
