#include "hub/store.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/output_file.h"
#include "hub/locks.h"
#include "hub/names.h"

namespace brass::hub {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kManifestEnd = ".json";

std::string utc_now() {
  const time_t now = time(nullptr);
  struct tm parts = {};
  gmtime_r(&now, &parts);
  char text[32];
  strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::optional<Identity> identity_of(const std::string& path) {
  const auto file = SourceFile::open(path);
  if (!file) return std::nullopt;
  const auto identity = file->identity();
  return identity ? std::optional(*identity) : std::nullopt;
}

// Puts the folder `from` at `to`; what stood there ends up at `from`.
Result<> swap_in(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) == 0) return {};
  if (errno == ENOTEMPTY || errno == EEXIST) {
    if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) return {};
    // A file system that cannot exchange: between the two steps the model is missing, and so not listed.
    const std::string old = from + ".old";
    if (rename(to.c_str(), old.c_str()) == 0 && rename(from.c_str(), to.c_str()) == 0) return {};
  }
  return fail("{}: cannot be put in place: {}", to, std::strerror(errno));
}

// Sums up what several files report, and passes it on.
class Meter {
 public:
  Meter(const Progress& progress, uint64_t total) : progress_(progress), total_(total) {}
  void operator()(uint64_t bytes) {
    done_ += bytes;
    if (progress_) progress_(done_, total_);
  }

 private:
  const Progress& progress_;
  uint64_t done_ = 0, total_;
};

}  // namespace

struct Store::Source {
  std::vector<std::string> paths;
  uint64_t bytes = 0;

  // All parts of the file that the user named.
  static Result<Source> open(const std::string& path) {
    Source source;
    const auto split = parse_split_name(path);
    for (uint32_t i = 0; i < (split ? split->count : 1); i++) {
      source.paths.push_back(split ? split->part(i) : path);
      auto file = SourceFile::open(source.paths.back());
      if (!file && split)
        file.error().hint = fmt::format("a model in {} parts needs all of them", split->count);
      if (!file) return std::unexpected(std::move(file).error());
      source.bytes += TRY(file->identity()).bytes;
    }
    return source;
  }
};

Result<std::string> Store::default_folder() {
  const char* data = std::getenv("XDG_DATA_HOME");
  if (data != nullptr && data[0] == '/')
    return std::string(data) + "/brass";  // the standard ignores relative ones
  const char* home = std::getenv("HOME");
  if (home == nullptr || home[0] != '/') {
    const passwd* user = getpwuid(getuid());
    home = user == nullptr ? nullptr : user->pw_dir;
  }
  if (home == nullptr || home[0] != '/')
    return fail_hint("give it with --store", "no home folder for the model store");
  return std::string(home) + "/.local/share/brass";
}

std::string Store::blob_folder(const std::string& sha256) const {
  return folder_ + "/blobs/sha256-" + sha256;
}

std::string Store::manifest_path(const std::string& name) const {
  return fmt::format("{}/models/{}{}", folder_, name, kManifestEnd);
}

std::vector<std::string> Store::names() const {
  std::vector<std::string> out;
  std::error_code absent;  // an empty store has no folder
  for (const auto& entry : fs::directory_iterator(folder_ + "/models", absent)) {
    std::string name = entry.path().filename().string();
    if (!name.ends_with(kManifestEnd)) continue;
    name.resize(name.size() - kManifestEnd.size());
    if (const auto checked = check_name(name); checked && *checked == name) out.push_back(name);
  }
  std::sort(out.begin(), out.end());
  return out;
}

Result<Model> Store::load(const std::string& name) const {
  const std::string path = manifest_path(name);
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) return fail("{}: cannot be read", path);
  return within(path, parse_manifest(text.str(), name));
}

Result<> Store::check_whole(const Model& model) const {
  for (const StoredFile& file : model.files) {
    const std::string path = blob_folder(model.sha256) + "/" + file.name;
    const auto found = identity_of(path);
    if (found && found->bytes == file.identity.bytes) continue;
    return fail_hint(
        fmt::format("run 'brass rm {}', and import it again", model.name), "model '{}': {} {}", model.name,
        path, found ? "has another size than it had when it was imported" : "is missing or unreadable");
  }
  return {};
}

bool Store::is_untouched(const Model& model) const {
  return std::all_of(model.files.begin(), model.files.end(), [&](const StoredFile& file) {
    return identity_of(blob_folder(model.sha256) + "/" + file.name) == file.identity;
  });
}

Result<Listing> Store::list() const {
  Listing listing;
  for (const std::string& name : names()) {
    auto model = load(name);
    const Result<> whole = model ? check_whole(*model) : std::unexpected(model.error());
    if (whole) {
      listing.models.push_back(std::move(*model));
    } else {
      listing.problems.push_back(whole.error().message);
    }
  }
  return listing;
}

Result<Model> Store::find(const std::string& name) const {
  const std::vector<std::string> known = names();
  const auto wanted = check_name(name);
  std::vector<std::string> matches;
  for (const std::string& candidate : known) {
    if (!wanted || !candidate.starts_with(*wanted)) continue;
    if (candidate == *wanted) return load(candidate);
    matches.push_back(candidate);
  }
  if (matches.size() == 1) return load(matches[0]);
  if (matches.size() > 1) {
    return fail_hint("write more of the name", "'{}' may mean {}", name, fmt::join(matches, ", "));
  }
  if (!wanted) return std::unexpected(wanted.error());
  if (known.empty()) {
    return fail_hint("'brass import FILE' puts a model into the store", "no model '{}': the store is empty",
                     name);
  }
  return fail_hint(fmt::format("did you mean {}?", fmt::join(closest_names(name, known), ", ")),
                   "no model '{}'", name);
}

Result<std::string> Store::path_of(const Model& model, const Progress& progress) const {
  TRY(check_whole(model));
  if (!is_untouched(model)) TRY(rehash(model, progress));
  return blob_folder(model.sha256) + "/" + model.files[0].name;
}

Result<std::string> Store::resolve(const std::string& name_or_path, const Progress& progress) const {
  std::error_code ignored;
  const bool exists = fs::exists(name_or_path, ignored);
  const bool path_like = name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".gguf");
  if (exists && path_like) return name_or_path;
  auto model = find(name_or_path);
  if (!model && exists) return name_or_path;
  if (!model && path_like) {
    const auto known = closest_names(name_or_path, names());
    return fail_hint(known.empty() ? "" : fmt::format("in the store there are {}", fmt::join(known, ", ")),
                     "{}: no such file", name_or_path);
  }
  const Model found = TRY(std::move(model));
  return path_of(found, progress);
}

Result<> Store::verify(const std::string& name, const Progress& progress) const {
  Model model = TRY(find(name));
  TRY(check_whole(model));
  TRY(rehash(std::move(model), progress));
  return {};
}

Result<Model> Store::rehash(Model model, const Progress& progress) const {
  Meter meter(progress, model.bytes());
  for (StoredFile& stored : model.files) {
    const std::string path = blob_folder(model.sha256) + "/" + stored.name;
    const SourceFile file = TRY(SourceFile::open(path));
    stored.identity = TRY(file.identity());
    const std::string sha256 = TRY(hash_file(file.descriptor(), path, std::ref(meter)));
    if (sha256 == stored.sha256) continue;
    return fail_hint(fmt::format("run 'brass rm {}', and import it again", model.name),
                     "model '{}': {} was changed after it was imported: its SHA-256 is {}, not {}",
                     model.name, path, sha256, stored.sha256);
  }
  // So that the next use need not hash again. A store that cannot be written to still works, only slower.
  const auto lock = FileLock::take(folder_ + "/lock");
  if (lock && load(model.name)) (void)write_manifest(model);
  return model;
}

Result<> Store::write_manifest(const Model& model) const {
  const std::string text = TRY(to_json(model));
  OutputFile out = TRY(OutputFile::create(manifest_path(model.name)));
  TRY(out.write(std::as_bytes(std::span(text))));
  return out.commit();
}

Result<Imported> Store::import_file(const std::string& path, const ImportOptions& options) const {
  const std::string name = TRY(check_name(options.name.empty() ? default_name(path) : options.name));
  const Source source = TRY(Source::open(path));
  std::vector<std::string> expected;
  for (const std::string& hash : options.expected_sha256) expected.push_back(TRY(parse_sha256(hash)));
  if (!expected.empty() && expected.size() != source.paths.size()) {
    return fail("{}: {} hashes were given for {} files", path, expected.size(), source.paths.size());
  }
  if (options.check) TRY(options.check(source.paths[0]));

  for (const std::string_view folder : {"models", "blobs", "staging"}) {
    TRY(make_folder(fmt::format("{}/{}", folder_, folder)));
  }
  std::optional<FileLock> lock(TRY(FileLock::take(folder_ + "/lock")));
  remove_leftovers();
  const StagingFolder staging = TRY(StagingFolder::create(folder_ + "/staging"));
  lock.reset();  // others may go on while this one hashes

  const std::string staged = staging.path() + "/blob";
  TRY(make_folder(staged));
  Imported imported{{name, utc_now(), {}, {}}};
  Meter meter(options.progress, source.bytes);
  for (size_t i = 0; i < source.paths.size(); i++) {
    const std::string file_name = fs::path(source.paths[i]).filename().string();
    if (!is_plain_file_name(file_name)) return fail_hint("rename it", "{}: this name cannot be stored", path);
    Staged file = TRY(stage_file(source.paths[i], staged, file_name, options.copy, std::ref(meter)));
    if (!expected.empty() && file.file.sha256 != expected[i]) {
      return fail_hint("the file is damaged or another one: download it again",
                       "{}: its SHA-256 is {}, but {} was expected", source.paths[i], file.file.sha256,
                       expected[i]);
    }
    imported.how = file.how;
    imported.model.files.push_back(std::move(file.file));
  }
  imported.model.sha256 = model_sha256(imported.model.files);
  TRY(sync_folder(staged));
  lock.emplace(TRY(FileLock::take(folder_ + "/lock")));
  return commit(std::move(imported), staged);
}

Result<Imported> Store::commit(Imported imported, const std::string& staged) const {
  Model& model = imported.model;
  TRY(to_json(model));  // before anything changes
  if (std::error_code ignored; fs::exists(manifest_path(model.name), ignored)) {
    const Model old = TRY(load(model.name));
    if (old.sha256 != model.sha256) {
      return fail_hint(fmt::format("choose another --name, or run 'brass rm {}' first", model.name),
                       "a different model is already stored as '{}'", model.name);
    }
    if (check_whole(old) && is_untouched(old)) return Imported{old, imported.how, true};
  }
  TRY(put_blob(model, staged));
  TRY(write_manifest(model));
  return imported;
}

Result<> Store::put_blob(Model& model, const std::string& staged) const {
  for (const std::string& name : names()) {
    const auto other = load(name);
    if (!other || other->sha256 != model.sha256 || !check_whole(*other) || !is_untouched(*other)) continue;
    model.files = other->files;  // stored under another name: the same bytes serve both
    return {};
  }
  TRY(swap_in(staged, blob_folder(model.sha256)));
  return sync_folder(folder_ + "/blobs");
}

Result<> Store::remove(const std::string& name) const {
  const std::string checked = TRY(check_name(name));
  const std::vector<std::string> known = names();
  if (std::find(known.begin(), known.end(), checked) == known.end()) {
    const auto close = closest_names(checked, known);
    return fail_hint(close.empty() ? "" : fmt::format("did you mean {}?", fmt::join(close, ", ")),
                     "no model is called '{}' (removing takes the whole name)", name);
  }
  const FileLock lock = TRY(FileLock::take(folder_ + "/lock"));
  const std::string path = manifest_path(checked);
  if (unlink(path.c_str()) != 0) return fail("{}: cannot be removed: {}", path, std::strerror(errno));
  TRY(sync_folder(folder_ + "/models"));
  remove_leftovers();
  return {};
}

void Store::remove_leftovers() const {
  std::error_code ignored;  // what cannot be removed now is tried again the next time
  StagingFolder::remove_dead(folder_ + "/staging");
  for (const auto& entry : fs::directory_iterator(folder_ + "/models", ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.find(OutputFile::kTemporaryMark) != std::string::npos) fs::remove(entry.path(), ignored);
  }
  std::set<std::string> used;
  for (const std::string& name : names()) {
    const auto model = load(name);
    if (!model) return;  // an unreadable manifest may mean any blob: keep them all
    used.insert(blob_folder(model->sha256));
  }
  for (const auto& entry : fs::directory_iterator(folder_ + "/blobs", ignored)) {
    if (used.contains(entry.path().string())) continue;
    // First out of the way in one step, so that a crash leaves no half blob under a blob's name.
    const std::string away = fmt::format("{}/staging/{}", folder_, entry.path().filename().string());
    fs::rename(entry.path(), away, ignored);
    fs::remove_all(away, ignored);
  }
}

}  // namespace brass::hub
