// The folder of one training, runs/NAME/: the resolved configuration, run.json (how the run was
// made), the log, the metrics, the checkpoints and the summary. Only one process at a time may hold
// it, and nothing in it is overwritten unless the user requests it.
#pragma once

#include <exception>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/directory_lock.h"
#include "base/file.h"
#include "base/inner_path.h"
#include "base/log.h"
#include "base/origin.h"

namespace roformer {

enum class ExistingRun {
  refuse,     // an existing run is an error that names --resume and --overwrite
  resume,     // a run must exist; its half-written checkpoints are removed
  overwrite,  // the earlier run, with its tokenizer, is removed as soon as this one is confirmed
};

// The run that another one overwrites. It stays inside the folder until the new run is known to
// work, and comes back if the new one fails before: a batch that does not fit into memory must not
// cost last week's checkpoints. Whatever system call the process is killed in, the next one that
// opens the folder finds the old run or the new one.
//
//   .previous.partial   some of the old run's files, while they are moved there or back
//   .previous           all of the old run's files; the others in the folder are the new run's
//   .outdated           the old run's files while they are removed
class PreviousRun {
 public:
  // True for the names, at the top of the folder, that belong to a run.
  using IsOurs = std::function<bool(const std::filesystem::path& name)>;

  // Moves the run's files aside. The folder must be locked.
  PreviousRun(std::filesystem::path folder, IsOurs is_ours);
  // Moves them back in place of the new run's files, unless they were discarded.
  ~PreviousRun();
  PreviousRun(const PreviousRun&) = delete;
  PreviousRun& operator=(const PreviousRun&) = delete;

  // Removes the old run's files after the new run works.
  void discard();
  bool is_discarded() const { return discarded_; }

  // Whether a killed process left files in one of the folders above.
  static bool needs_recovery(const std::filesystem::path& folder);
  // Brings the old run back, or removes it if it was discarded. The folder must be locked.
  static void recover(const std::filesystem::path& run, const IsOurs& is_ours);
  // True for the names above.
  static bool is_aside(const std::filesystem::path& name);

 private:
  InnerPath folder_;
  IsOurs is_ours_;
  bool discarded_ = false;
};

class RunDirectory {
 public:
  // Makes or opens the folder and locks it. Throws Error. It is usage if a run exists and must not
  // (or the reverse). It is failure if the folder cannot be written, has a link or a pipe in place
  // of a run's file, or is held by another process.
  RunDirectory(std::filesystem::path path, ExistingRun existing);
  // The folder for the other processes of a training. The first process holds it; this process
  // makes, locks and writes nothing.
  static RunDirectory of_first_process(std::filesystem::path path, ExistingRun existing);

  const std::filesystem::path& path() const { return path_; }
  // The user may make this folder a link; nothing in it may be one.
  InnerPath folder() const { return InnerPath::named(path_); }
  InnerPath config() const { return folder() / "config.yaml"; }
  InnerPath record() const { return folder() / "run.json"; }
  InnerPath metrics() const { return folder() / "metrics.jsonl"; }
  InnerPath tensorboard() const { return folder() / "tensorboard"; }
  InnerPath checkpoints() const { return folder() / "checkpoints"; }
  InnerPath summary() const { return folder() / "summary.json"; }

  // Declares that the new run works, and removes the run that it overwrites. Without this call the
  // old run comes back when this object is destroyed.
  void confirm() const;
  // False while an overwritten run would still come back.
  bool is_confirmed() const;
  // For a run that could not begin: removes its files except the log, so that its name is free
  // again. Does nothing for a run that is confirmed, resumed or overwrites another.
  void withdraw() const;
  // Writes the error that ended the run to its log.
  void log_end(const std::exception& why) const {
    if (log_) log_->error(why.what());
  }

  // True if the folder held a run, which is now resumed.
  bool resumed() const { return resumed_; }

 private:
  RunDirectory(std::filesystem::path path, bool resumed)
      : path_(std::move(path)), resumed_(resumed) {}

  std::filesystem::path path_;
  bool resumed_ = false;
  mutable bool confirmed_ = false;
  std::optional<DirectoryLock> lock_;
  mutable std::optional<PreviousRun> previous_;
  std::optional<log::FileSink> log_;  // the last: the file is closed before the old run comes back
};

// Repairs the folder of a run. Finishes the work of a process that was killed during --overwrite.
// Replaces a lost or empty config.yaml by the copy in the last checkpoint that has one.
void recover_run(const std::filesystem::path& path);
// True if a run has begun: config.yaml, its first file, exists.
bool is_run(const std::filesystem::path& path);
// The runs in a folder that is not a run itself, such as a study's, sorted.
std::vector<std::filesystem::path> runs_in(const std::filesystem::path& folder);
// Throws Error (usage) if there is no run to resume.
void require_run(const std::filesystem::path& path);

// For commands that make a run and cannot resume one: throws Error (usage) if a run exists that may
// not be overwritten. `otherwise` is a hint at another way.
void refuse_existing(const std::filesystem::path& path, ExistingRun existing,
                     const std::string& otherwise);

// The run.json of a new run: the program and its command, fingerprints of the data, LibTorch's
// version, the machine and the time.
nlohmann::json run_record(const Origin& origin, const nlohmann::json& data);

}  // namespace roformer
