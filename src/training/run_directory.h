// The folder of one training, runs/NAME/: the resolved configuration, who and what made it, the
// log, the metrics, the checkpoints and the summary. One process at a time may hold it, and nothing
// in it is overwritten unless the user says so.
#pragma once

#include <exception>
#include <filesystem>
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
#include "training/previous_run.h"

namespace roformer {

enum class ExistingRun {
  refuse,     // an existing run is an error that names --resume and --overwrite
  resume,     // there must be one; its half-written checkpoints are removed
  overwrite,  // what an earlier run wrote goes, its tokenizer too, as soon as this one is confirmed
};

class RunDirectory {
 public:
  // Makes or opens the folder and locks it. Throws Error: usage when a run is there and must not be
  // (or the reverse), failure when the folder cannot be written, holds a link or a pipe where a
  // run's file belongs, or another process holds it.
  RunDirectory(std::filesystem::path path, ExistingRun existing);
  // As one of several processes sees the folder that the first of them holds: nothing is made,
  // locked or written.
  static RunDirectory of_first_process(std::filesystem::path path, ExistingRun existing);

  const std::filesystem::path& path() const { return path_; }
  // May be a link, or behind one, as the user likes; nothing in it may.
  InnerPath folder() const { return InnerPath::named(path_); }
  InnerPath config() const { return folder() / "config.yaml"; }
  InnerPath record() const { return folder() / "run.json"; }
  InnerPath metrics() const { return folder() / "metrics.jsonl"; }
  InnerPath tensorboard() const { return folder() / "tensorboard"; }
  InnerPath checkpoints() const { return folder() / "checkpoints"; }
  InnerPath summary() const { return folder() / "summary.json"; }

  // The new run stands on its own: what it overwrites goes. Before that, and where nobody says so,
  // the old run comes back when this object ends.
  void confirm() const;
  // False as long as an overwritten run would come back.
  bool is_confirmed() const;
  // For a run that could not begin: takes back what a new one has written but its log, so that its
  // name is free again. Nothing happens to one that is confirmed, resumed or overwrites another.
  void withdraw() const;
  // Leaves in the log what ended the run before its time.
  void log_end(const std::exception& why) const {
    if (log_) log_->error(why.what());
  }

  // True when the folder held a run and goes on with it.
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

// Puts in order what a process left that was killed while it overwrote a run, and brings back a
// config.yaml that was lost or emptied from the last checkpoint that has a copy.
void recover_run(const std::filesystem::path& path);
// True when a run was begun there: its config.yaml, which is written first, is there.
bool is_run(const std::filesystem::path& path);
// The runs that lie in a folder that is none itself, a study's say; sorted.
std::vector<std::filesystem::path> runs_in(const std::filesystem::path& folder);
// Throws Error (usage) where no run was begun that could be resumed.
void require_run(const std::filesystem::path& path);

// For commands that make a run and cannot go on with one: throws Error (usage) where there is one
// that is not to be overwritten. `otherwise` is the other way out.
void refuse_existing(const std::filesystem::path& path, ExistingRun existing,
                     const std::string& otherwise);

// What run.json says of a new run: what made it and from which data (fingerprints), LibTorch's
// version, the machine and the time.
nlohmann::json run_record(const Origin& origin, const nlohmann::json& data);

}  // namespace roformer
