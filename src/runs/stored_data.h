// The data of a run, where it says they are or where the user does.
#pragma once

#include <filesystem>

#include "base/error.h"
#include "config/settings.h"
#include "data/dataset.h"
#include "data/parallel_dataset.h"
#include "runs/trained_model.h"

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

// Likewise the set of a language model and the pairs of a translator. Throw Error (usage) for data
// that were prepared with other tokenizers than the run's.
Dataset open_stored_text(const std::filesystem::path& given, const TrainedModel& trained);
ParallelDataset open_stored_pairs(const std::filesystem::path& given,
                                  const TrainedTranslator& trained);

}  // namespace roformer
