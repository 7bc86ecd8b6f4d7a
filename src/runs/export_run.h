// Writes a run as a Hugging Face folder (`roformer export`).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/training_settings.h"

namespace roformer {

struct ExportedRun {
  std::filesystem::path checkpoint;
  std::string architecture;        // "BertForMaskedLM"
  std::vector<std::string> notes;  // one sentence each
};

// Writes the checkpoint of a run into a new folder. `which` selects the checkpoint as in
// find_checkpoint. `weights` selects the exported weights; none: the run's training.weights.
// `overwrite` replaces an earlier export. Throws Error as find_checkpoint, weights_file and
// write_hugging_face_folder do.
ExportedRun export_run(const std::filesystem::path& run_or_checkpoint, const std::string& which,
                       const std::filesystem::path& folder,
                       std::optional<WeightsKind> weights = std::nullopt, bool overwrite = false);

}  // namespace roformer
