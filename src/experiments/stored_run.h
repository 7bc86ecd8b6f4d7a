// Runs as their folders show them, whoever made them: a training that goes on now, one that was
// stopped, an import, a damaged folder. For `roformer runs` and `roformer report`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/directory_lock.h"
#include "experiments/declaration/study_settings.h"
#include "experiments/run_result.h"
#include "training/training_state.h"

namespace roformer {

struct StoredRun {
  enum class State {
    training,  // a process holds the folder
    claimed,   // a study is about to train it, or evaluates it
    finished,
    stopped,   // can be resumed
    diverged,  // can be resumed with other settings
    failed,    // ended by an error before its first checkpoint
    averaged,
    imported,
    empty,    // begun, and holds no checkpoint
    damaged,  // a file cannot be read
  };

  std::filesystem::path folder;
  std::string name;  // for people
  State state = State::empty;
  std::string remark;  // who trains it, why it failed, which file is damaged; mostly empty
  // Set unless the configuration cannot be read. Its settings are those that the run stored.
  std::shared_ptr<const StudyRun> run;
  nlohmann::json record;  // run.json; null: none
  TrainingSummary so_far;
  std::vector<std::filesystem::path> checkpoints;  // by rising step
  std::uint64_t bytes = 0;                         // of all files in the folder
  double age = 0;                                  // seconds since the run was last written

  bool readable() const { return run != nullptr; }
  const Settings& settings() const { return run->settings; }
  // The step up to which the training has come.
  std::int64_t steps() const;
  // The share of the training that is done, in [0, 1].
  double done() const;
};

// "training now", "stopped", "holds no checkpoint", ...
std::string state_word(StoredRun::State state);

// Reads a run's folder. Never throws: what cannot be read makes the state `damaged`.
StoredRun read_stored_run(const std::filesystem::path& folder, const std::string& name);

// The runs in a folder and, up to four folders deep, in the folders inside it, such as studies.
// They are sorted by path, and their names are relative to the folder. Links to runs are followed,
// links to other folders are not. Throws Error (usage) if there is no such folder.
std::vector<StoredRun> find_stored_runs(const std::filesystem::path& folder);

// For arguments that name runs. A folder of runs stands for all of its runs. Their names are those
// of their folders, or the given paths if two folders have the same name. Throws Error: usage for a
// checkpoint or a folder without runs, failure for a damaged run.
std::vector<StoredRun> readable_runs(const std::vector<std::filesystem::path>& folders);

// Throws Error (usage) unless the folder holds a run, even a damaged one.
void require_stored_run(const std::filesystem::path& folder);

// The runs among `others` that start from this run (model.from), with or without its weights.
std::vector<const StoredRun*> started_from(const std::filesystem::path& run,
                                           const std::vector<StoredRun>& others);

// The folder of the study that the run belongs to; empty if it belongs to none.
std::filesystem::path study_of(const std::filesystem::path& run);
// Keeps studies from training the run while the lock lives. Null if no study ever claimed it.
// Throws DirectoryInUse if a study has it.
std::unique_ptr<DirectoryLock> claim_of(const std::filesystem::path& run);

}  // namespace roformer
