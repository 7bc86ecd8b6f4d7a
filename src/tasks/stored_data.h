// Opens the data of a run: where its settings say they are, or where the user does.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "base/error.h"
#include "config/settings.h"
#include "data/dataset.h"
#include "data/parallel_dataset.h"
#include "tasks/task_model.h"

namespace roformer {

// Returns open(folder). Hints at --data if the run's own folder is missing: runs are copied from
// machine to machine.
template <typename Open>
auto open_stored(const std::filesystem::path& given, const Settings& settings, Open open) {
  if (!given.empty()) return open(given);
  const std::filesystem::path& folder = settings.data.directory;
  std::error_code error;
  if (!folder.empty() && std::filesystem::exists(folder, error)) return open(folder);
  throw_failure(folder.string(), "the data that the run was trained on are not there",
                "say where they are: --data FOLDER");
}

// The record in run.json of the data that a checkpoint's run was trained on; null if there is none.
nlohmann::json recorded_data_of(const std::filesystem::path& checkpoint);

// Throws Error (usage) if the folder holds the text that the run was trained on, divided in another
// way: a figure on its validation set would be a figure on training data. Does nothing if the run
// or the data are too old to have the fingerprints.
void refuse_other_division(const OpenedCheckpoint& trained, const std::filesystem::path& folder);

// The prepared text or pairs that a run was trained on, or `given`. Throw Error (usage) for data
// that were prepared with other tokenizers than the run's, and for another division of them.
Dataset open_stored_text(const std::filesystem::path& given, const OpenedCheckpoint& trained);
ParallelDataset open_stored_pairs(const std::filesystem::path& given,
                                  const OpenedCheckpoint& trained);

}  // namespace roformer
