// The data of a run, where it says they are or where the user does.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "base/error.h"
#include "config/settings.h"
#include "data/dataset.h"
#include "data/parallel_dataset.h"
#include "tasks/task_model.h"

namespace roformer {

// open(folder), with a hint at --data where the run's own folder is not there (any more): runs are
// copied from machine to machine.
template <typename Open>
auto open_stored(const std::filesystem::path& given, const Settings& settings, Open open) {
  if (!given.empty()) return open(given);
  const std::filesystem::path& folder = settings.data.directory;
  std::error_code error;
  if (!folder.empty() && std::filesystem::exists(folder, error)) return open(folder);
  throw_failure(folder.string(), "the data that the run was trained on are not there",
                "say where they are: --data FOLDER");
}

// What run.json says of the data that the run of a checkpoint was trained on; null where it says
// nothing.
nlohmann::json recorded_data_of(const std::filesystem::path& checkpoint);

// Throws Error (usage) where the folder holds the text that the run was trained on, divided in
// another way: a figure on its validation set would be one on training data. Nothing happens where
// the run or the data are older than the fingerprints that tell.
void refuse_other_division(const OpenedCheckpoint& trained, const std::filesystem::path& folder);

// The prepared text or pairs that a run was trained on, or `given`. Throw Error (usage) for data
// that were prepared with other tokenizers than the run's, and for another division of them.
Dataset open_stored_text(const std::filesystem::path& given, const OpenedCheckpoint& trained);
ParallelDataset open_stored_pairs(const std::filesystem::path& given,
                                  const OpenedCheckpoint& trained);

}  // namespace roformer
