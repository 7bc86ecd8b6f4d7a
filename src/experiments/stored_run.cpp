#include "experiments/stored_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <system_error>
#include <utility>

#include "base/checksums.h"
#include "base/directory_holder.h"
#include "base/error.h"
#include "base/few_of.h"
#include "base/file.h"
#include "config/ranking.h"
#include "experiments/training_run.h"
#include "runs/run_settings.h"
#include "training/checkpoint.h"
#include "training/run_directory.h"
#include "training/stored_metrics.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

using StoredState = StoredRun::State;

constexpr const char* kClaims = "claims";  // of a study, in its folder

// A folder that a training, an import or an average wrote, even if its config.yaml is lost, or if a
// process was killed while it replaced or removed the run.
bool is_stored_run(const fs::path& folder) {
  if (is_present(folder / "run.json") || is_present(folder / "checkpoints")) return true;
  if (PreviousRun::needs_recovery(folder)) return true;
  return is_present(folder / "log.txt") &&
         (is_run(folder) || is_present(folder / ".lock"));  // a training that did not begin
}

bool is_checkpoint(const fs::path& folder) {
  return is_present(folder / kStateFile) && is_present(folder / "config.yaml");
}

// runs/STUDY/tuning/RUN is three folders deep. A limit keeps a list of runs in a home from reading
// the whole disk.
constexpr int kDeepest = 4;

// Does not follow links to folders, so that a loop of them ends.
void collect_runs(const fs::path& folder, int depth, std::set<fs::path>& found) {
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  // An unreadable folder may be a run, so it is listed as damaged.
  if (error == std::errc::permission_denied) found.insert(folder);
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
    std::error_code of_entry;
    const fs::path& path = entry->path();
    if (!entry->is_directory(of_entry)) continue;
    if (folder.filename() == kClaims) {
      const fs::path run = folder.parent_path() / path.filename();
      if (!directory_holder(path).empty()) found.insert(run);
    } else if (is_stored_run(path)) {
      found.insert(path);
    } else if (!entry->is_symlink(of_entry) && depth < kDeepest) {
      collect_runs(path, depth + 1, found);
    }
  }
}

void measure(StoredRun& stored) {
  std::error_code error;
  fs::recursive_directory_iterator entry(stored.folder,
                                         fs::directory_options::skip_permission_denied, error);
  for (const fs::recursive_directory_iterator end; !error && entry != end; entry.increment(error)) {
    std::error_code of_entry;
    if (!fs::is_regular_file(entry->symlink_status(of_entry))) continue;
    const std::uintmax_t bytes = entry->file_size(of_entry);
    if (!of_entry) stored.bytes += bytes;
  }
  fs::file_time_type newest = fs::file_time_type::min();
  for (const char* const name :
       {"config.yaml", "run.json", "metrics.jsonl", "summary.json", "log.txt"}) {
    std::error_code of_file;
    const fs::file_time_type time = fs::last_write_time(stored.folder / name, of_file);
    if (!of_file) newest = std::max(newest, time);
  }
  if (newest == fs::file_time_type::min()) return;
  const std::chrono::duration<double> age = fs::file_time_type::clock::now() - newest;
  stored.age = std::max(0.0, age.count());
}

// The last error of its log; "" if there is none.
std::string last_error(const fs::path& folder) try {
  constexpr std::string_view kError = " error ";
  const std::string log = read_file(folder / "log.txt", kLargestDescription);
  const std::size_t found = log.rfind(kError);
  if (found == std::string::npos) return "";
  const std::size_t begin = found + kError.size();
  return log.substr(begin, log.find('\n', begin) - begin);
} catch (const Error&) {
  return "";
}

StoredState state_of(StoredRun& stored) {
  if (std::string holder = directory_holder(stored.folder); !holder.empty()) {
    stored.remark = std::move(holder);
    return StoredState::training;
  }
  const fs::path claim = stored.folder.parent_path() / kClaims / stored.folder.filename();
  if (std::string holder = directory_holder(claim); !holder.empty()) {
    stored.remark = std::move(holder);
    return StoredState::claimed;
  }
  if (!stored.readable()) {
    stored.remark = last_error(stored.folder);
    return StoredState::failed;
  }
  if (!recorded_text(stored.record, "/data/average_of").empty()) return StoredState::averaged;
  if (!recorded_text(stored.record, "/data/imported_from").empty()) return StoredState::imported;
  if (is_present(stored.folder / "summary.json")) {
    if (stored.so_far.reason == StopReason::patience) {
      stored.remark = "its validations stopped improving";
    }
    if (stored.so_far.reason == StopReason::diverged) stored.remark = stored.so_far.divergence;
    if (stored.so_far.reason != StopReason::signal) {
      return stored.so_far.reason == StopReason::diverged ? StoredState::diverged
                                                          : StoredState::finished;
    }
  }
  if (!stored.checkpoints.empty()) return StoredState::stopped;
  stored.remark = last_error(stored.folder);
  return stored.remark.empty() ? StoredState::empty : StoredState::failed;
}

void read_files(StoredRun& stored) {
  const fs::path& folder = stored.folder;
  const bool began = is_run(folder);
  const bool held = !began && !directory_holder(folder).empty();
  if (began || is_stored_run(folder)) stored.checkpoints = list_checkpoints(folder / "checkpoints");
  if (is_present(folder / "run.json")) stored.record = read_checksummed_json(folder / "run.json");
  if (!began && !held && PreviousRun::needs_recovery(folder)) {
    throw_failure(folder.string(), "a process was killed while it replaced or removed the run");
  }
  if (!began && !held && (!stored.record.is_null() || !stored.checkpoints.empty())) {
    throw_failure((folder / "config.yaml").string(), "is not there");
  }
  if (!began) return;
  stored.run = std::make_shared<const StudyRun>(StudyRun{
      .name = stored.name, .values = {stored.name}, .settings = read_run_settings(folder)});
  stored.so_far = summary_so_far(folder, ranking_of(stored.settings()));
}

// A name that tells the run from others: the path as the user gave it, without a slash at the end.
std::string given_name(const fs::path& folder) {
  const fs::path whole = folder.has_filename() ? folder : folder.parent_path();
  return whole.lexically_normal().string();
}

bool is_inside(const fs::path& folder, const fs::path& path) {
  return std::ranges::mismatch(folder, path).in1 == folder.end();
}

}  // namespace

std::int64_t StoredRun::steps() const {
  if (so_far.consumed.steps > 0 || checkpoints.empty()) return so_far.consumed.steps;
  try {
    return read_training_state(checkpoints.back()).consumed.steps;
  } catch (const Error&) {
    return 0;
  }
}

double StoredRun::done() const {
  if (state == StoredState::finished) return 1;
  if (!readable() || settings().training.steps.is_zero()) return 0;
  const Period& length = settings().training.steps;
  return std::min(1.0, so_far.consumed.in(length.unit) / length.amount);
}

std::string state_word(StoredState state) {
  static constexpr std::array kWords = {"training now", "claimed",  "finished",
                                        "stopped",      "diverged", "failed",
                                        "averaged",     "imported", "holds no checkpoint",
                                        "damaged"};
  return kWords.at(static_cast<std::size_t>(state));
}

StoredRun read_stored_run(const fs::path& folder, const std::string& name) {
  StoredRun stored{.folder = folder, .name = name};
  measure(stored);
  try {
    read_files(stored);
    stored.state = state_of(stored);
  } catch (const Error& problem) {
    stored.state = StoredState::damaged;
    stored.remark = problem.parts().location + ": " + problem.parts().message;
  } catch (const std::exception& problem) {  // a value of another type in a file
    stored.state = StoredState::damaged;
    stored.remark = problem.what();
  }
  return stored;
}

std::vector<StoredRun> find_stored_runs(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    throw_usage(folder.string(), "there is no such folder",
                "the folder in which runs are, by default runs");
  }
  if (is_stored_run(folder)) return {read_stored_run(folder, given_name(folder))};
  const fs::directory_iterator readable(folder, error);
  if (error) throw_failure(folder.string(), "cannot read: " + error.message());
  std::set<fs::path> found;
  collect_runs(folder, 1, found);
  std::vector<StoredRun> runs;
  for (const fs::path& path : found) {
    runs.push_back(read_stored_run(path, path.lexically_relative(folder).string()));
  }
  return runs;
}

void require_stored_run(const fs::path& folder) {
  std::error_code error;
  if (is_checkpoint(folder)) {
    throw_usage(folder.string(), "is a checkpoint, not a run",
                "name the run: " + folder.parent_path().parent_path().string());
  }
  if (is_stored_run(folder)) return;
  if (!fs::is_directory(folder, error)) {
    const fs::path usual = "runs" / folder;
    throw_usage(folder.string(), "there is no such run",
                is_stored_run(usual) ? "did you mean " + usual.string() + "?"
                                     : "`roformer runs list` shows those here");
  }
  const std::vector<StoredRun> inside = find_stored_runs(folder);
  std::vector<std::string> names;
  for (const StoredRun& run : inside) names.push_back(run.folder.string());
  throw_usage(folder.string(), inside.empty() ? "is not a run" : "is a folder of runs, not a run",
              inside.empty() ? "" : "name one of them: " + few_of(names));
}

std::vector<StoredRun> readable_runs(const std::vector<fs::path>& folders) {
  std::vector<StoredRun> runs;
  for (const fs::path& folder : folders) {
    std::error_code error;
    std::vector<StoredRun> inside;
    const bool several =
        fs::is_directory(folder, error) && !is_checkpoint(folder) && !is_stored_run(folder);
    if (several) inside = find_stored_runs(folder);
    if (inside.empty()) {
      require_stored_run(folder);
      inside.push_back(read_stored_run(folder, given_name(folder)));
    }
    for (StoredRun& run : inside) {
      if (several) run.name = given_name(folder / run.name);
      if (run.state == StoredState::damaged) throw_failure(run.name, "is damaged: " + run.remark);
      if (!run.readable()) {
        if (several) continue;
        throw_failure(run.name, "has not begun" + (run.remark.empty() ? "" : ": " + run.remark));
      }
      const auto same = std::ranges::find_if(runs, [&](const StoredRun& other) {
        return fs::equivalent(other.folder, run.folder, error);
      });
      if (same == runs.end()) runs.push_back(std::move(run));
    }
  }
  std::set<std::string> names;
  for (const StoredRun& run : runs) names.insert(folder_name(run.folder));
  if (names.size() == runs.size()) {
    for (StoredRun& run : runs) run.name = folder_name(run.folder);
  }
  return runs;
}

std::vector<const StoredRun*> started_from(const fs::path& run,
                                           const std::vector<StoredRun>& others) {
  std::error_code error;
  const fs::path source = fs::weakly_canonical(run, error);
  std::vector<const StoredRun*> found;
  for (const StoredRun& other : others) {
    if (!other.readable() || other.settings().model.from.empty()) continue;
    if (fs::equivalent(other.folder, run, error)) continue;
    const fs::path from = fs::weakly_canonical(other.settings().model.from, error);
    if (is_inside(source, from)) found.push_back(&other);
  }
  return found;
}

fs::path study_of(const fs::path& run) {
  fs::path folder = (run.has_filename() ? run : run.parent_path()).parent_path();
  if (folder.empty()) folder = ".";
  return is_present(folder / kClaims) && is_present(folder / "configs") ? folder : fs::path();
}

std::unique_ptr<DirectoryLock> claim_of(const fs::path& run) {
  const fs::path study = study_of(run);
  if (study.empty()) return nullptr;
  const InnerPath claim = InnerPath::named(study) / kClaims / folder_name(run);
  return is_present(claim.path()) ? std::make_unique<DirectoryLock>(claim) : nullptr;
}

}  // namespace roformer
