#include "training/run_directory.h"

#include <ATen/Parallel.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <torch/headeronly/version.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "tensor/device.h"
#include "text/translation_tokenizers.h"
#include "training/checkpoint.h"
#include "training/run_files.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr const char* kConfig = "config.yaml";

bool holds_foreign_files(const fs::path& path) {
  const fs::directory_iterator entries(path);
  return std::any_of(begin(entries), end(entries),
                     [](const auto& entry) { return !is_run_file(entry.path().filename()); });
}

// A checkpoint's copy of a config.yaml that is missing or empty, for example after a loss of power.
// "" if the file exists or no checkpoint has a copy.
fs::path lost_config(const fs::path& run) {
  const auto has_text = [](const fs::path& file) {
    std::error_code error;
    const auto size = fs::file_size(file, error);
    return !error && size > 0;
  };
  if (has_text(run / kConfig)) return {};
  const std::vector<fs::path> checkpoints = list_checkpoints(run / "checkpoints");
  const auto last = std::find_if(checkpoints.rbegin(), checkpoints.rend(),
                                 [&](const auto& folder) { return has_text(folder / kConfig); });
  return last == checkpoints.rend() ? fs::path() : *last / kConfig;
}

constexpr const char* kWhole = ".previous";
constexpr const char* kMoving = ".previous.partial";
constexpr const char* kOutdated = ".outdated";

void remove_entry(const InnerPath& path) {
  const std::error_code error = path.remove_all();
  if (error) throw_failure(path.string(), "cannot remove: " + error.message());
}

std::vector<fs::path> names_in(const fs::path& folder) {
  std::vector<fs::path> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename());
  }
  return names;
}

// On a network disk a file that somebody reads cannot be removed. The next opening of the run tries
// again.
void remove_outdated(const InnerPath& folder) {
  const std::error_code error = (folder / kOutdated).remove_all();
  if (error) {
    log::warn("{}: cannot remove: {}", (folder / kOutdated).string(), error.message());
  }
}

void bring_back(const InnerPath& folder) {
  for (const fs::path& name : names_in(folder / kMoving)) {
    remove_entry(folder / name);  // for instance the log of the new run
    (folder / kMoving / name).move_to(folder / name);
  }
  remove_entry(folder / kMoving);
  sync_directory(folder);
}

}  // namespace

bool is_run(const fs::path& path) {
  return is_present(path / kConfig);
}

std::vector<fs::path> runs_in(const fs::path& folder) {
  std::vector<fs::path> runs;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (is_run(entry.path())) runs.push_back(entry.path());
  }
  std::ranges::sort(runs);
  return runs;
}

void require_run(const fs::path& path) {
  if (is_run(path)) return;
  throw_usage(path.string(), "holds no run that could be resumed",
              "a configuration file begins one: roformer train FILE --run NAME");
}

void recover_run(const fs::path& path) {
  if (!PreviousRun::needs_recovery(path) && lost_config(path).empty()) return;
  require_plain_run(path);
  const DirectoryLock lock(InnerPath::named(path));
  // Includes the new run's tokenizer, although its configuration may not have been written yet.
  PreviousRun::recover(path, replaced_in(path));
  const fs::path copy = lost_config(path);  // of what is there now
  if (copy.empty()) return;
  write_file_atomically(InnerPath::named(path) / kConfig, read_file(copy, kLargestDescription));
  log::warn("{} was lost and has been restored from {}", (path / kConfig).string(),
            copy.parent_path().filename().string());
}

bool RunDirectory::is_confirmed() const {
  return !previous_ || previous_->is_discarded();
}

void RunDirectory::confirm() const {
  confirmed_ = true;
  if (previous_) previous_->discard();
}

void RunDirectory::withdraw() const {
  if (confirmed_ || resumed_ || previous_) return;
  std::error_code error;
  std::vector<fs::path> names;
  for (const char* const name : {"run.json", "metrics.jsonl", "tensorboard", "summary.json"}) {
    names.emplace_back(name);
    names.emplace_back(std::string(name) + ".partial");
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(path_, error)) {
    const fs::path name = entry.path().filename();
    if (is_tokenizer_entry(path_, name)) names.push_back(name);
  }
  names.emplace_back(kConfig);  // last: until then --resume can start the run again
  for (const fs::path& name : names) fs::remove_all(path_ / name, error);
}

RunDirectory::RunDirectory(fs::path path, ExistingRun existing) : path_(std::move(path)) {
  const std::string location = path_.string();
  require_plain_run(path_);
  recover_run(path_);
  if (existing == ExistingRun::resume) require_run(path_);
  const auto refuse_run = [&] {
    if (existing != ExistingRun::refuse || !is_run(path_)) return;
    throw_usage(location, "holds a run already",
                "--resume to continue it, --overwrite to replace it, --run NAME for another");
  };
  refuse_run();
  make_directories(path_);
  // Checked separately, since locking an existing folder needs no write.
  if (::access(path_.c_str(), W_OK) != 0) {
    throw_failure(location, "cannot write there: " + system_message(errno));
  }
  if (!is_run(path_) && holds_foreign_files(path_)) {
    throw_usage(location, "is neither empty nor a run", "choose another name for it");
  }
  lock_.emplace(folder());
  refuse_run();  // another process, which held the lock until now, may have made one
  // Without a run there is nothing to bring back.
  if (existing == ExistingRun::overwrite && is_run(path_)) {
    previous_.emplace(path_, replaced_in(path_));
  }
  resumed_ = existing == ExistingRun::resume;
  remove_partial_checkpoints(checkpoints());
  log_.emplace(folder() / "log.txt");
}

RunDirectory RunDirectory::of_first_process(fs::path path, ExistingRun existing) {
  return {std::move(path), existing == ExistingRun::resume};
}

void refuse_existing(const fs::path& path, ExistingRun existing, const std::string& otherwise) {
  recover_run(path);
  if (existing != ExistingRun::refuse || !is_run(path)) return;
  throw_usage(path.string(), "holds a run already", "replace it with --overwrite, or " + otherwise);
}

nlohmann::json run_record(const Origin& origin, const nlohmann::json& data) {
  struct utsname system {};
  ::uname(&system);
  const std::time_t now = std::time(nullptr);
  const auto memory = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                      static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return {{"format", "roformer run"},
          {"format_version", 1},
          {"version", origin.version},
          {"commit", origin.commit},
          {"command", origin.command},
          {"started", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now))},
          {"libtorch", TORCH_VERSION},
          {"machine",
           {{"host", system.nodename},
            {"system", std::string(system.sysname) + " " + system.release},
            {"processor", processor_name()},
            {"cores", std::thread::hardware_concurrency()},
            {"threads", at::get_num_threads()},
            {"memory_bytes", memory}}},
          {"data", data}};
}

PreviousRun::PreviousRun(fs::path folder, IsOurs is_ours)
    : folder_(InnerPath::named(std::move(folder))), is_ours_(std::move(is_ours)) {
  (folder_ / kMoving).make_folder();
  try {
    for (const fs::path& name : names_in(folder_)) {
      if (is_ours_(name)) (folder_ / name).move_to(folder_ / kMoving / name);
    }
    (folder_ / kMoving).move_to(folder_ / kWhole);
  } catch (...) {
    bring_back(folder_);
    throw;
  }
  sync_directory(folder_);
}

PreviousRun::~PreviousRun() {
  if (discarded_) return;
  try {
    recover(folder_, is_ours_);
  } catch (const std::exception& problem) {  // the next process that opens the folder tries again
    log::warn("the run that was to be overwritten is in {}: {}", (folder_ / kWhole).string(),
              problem.what());
  }
}

void PreviousRun::discard() {
  if (discarded_) return;
  (folder_ / kWhole).move_to(folder_ / kOutdated);
  discarded_ = true;
  remove_outdated(folder_);
}

bool PreviousRun::needs_recovery(const fs::path& folder) {
  return is_present(folder / kWhole) || is_present(folder / kMoving) ||
         is_present(folder / kOutdated);
}

void PreviousRun::recover(const fs::path& run, const IsOurs& is_ours) {
  const InnerPath folder = InnerPath::named(run);
  for (const char* const aside : {kWhole, kMoving, kOutdated}) (folder / aside).require_plain();
  remove_outdated(folder);
  if (is_present((folder / kWhole).path())) {
    for (const fs::path& name : names_in(folder)) {
      if (is_ours(name)) remove_entry(folder / name);
    }
    (folder / kWhole).move_to(folder / kMoving);
  }
  if (is_present((folder / kMoving).path())) {
    bring_back(folder);
    log::info("{}: the previous run has been restored", folder.string());
  }
}

bool PreviousRun::is_aside(const fs::path& name) {
  return name == kWhole || name == kMoving || name == kOutdated;
}

}  // namespace roformer
