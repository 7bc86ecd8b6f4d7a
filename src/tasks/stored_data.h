// The data of a run, in the folder that the run names or that the user gives.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "base/error.h"
#include "base/file.h"
#include "config/settings.h"
#include "data/dataset.h"
#include "data/parallel_dataset.h"
#include "tasks/task_model.h"

namespace roformer {

// Returns open(folder). Users copy runs between machines: if the run's folder is missing, the error
// has a hint at --data.
template <typename Open>
auto open_stored(const std::filesystem::path& given, const Settings& settings, Open open) {
  if (!given.empty()) return open(given);
  const std::filesystem::path& folder = settings.data.directory;
  if (!folder.empty() && is_present(folder)) return open(folder);
  throw_failure(folder.string(), "the data that the run was trained on are not there",
                "say where they are: --data FOLDER");
}

// The data section of the run.json of the checkpoint's run; null if it is missing.
nlohmann::json recorded_data_of(const std::filesystem::path& checkpoint);

// Throws Error (usage) if the folder holds the run's training text divided in another way, since
// its validation set would be training data. Does nothing if the run or the data are older than the
// fingerprints.
void refuse_other_division(const OpenedCheckpoint& trained, const std::filesystem::path& folder);

// The prepared text or pairs that a run was trained on, or `given`. Throw Error (usage) if the data
// were prepared with another tokenizer than the run's, or are another division of the run's data.
Dataset open_stored_text(const std::filesystem::path& given, const OpenedCheckpoint& trained);
ParallelDataset open_stored_pairs(const std::filesystem::path& given,
                                  const OpenedCheckpoint& trained);

}  // namespace roformer
