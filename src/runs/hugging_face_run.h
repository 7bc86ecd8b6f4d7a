// Runs from and to folders of Hugging Face's: `roformer import` and `roformer export`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/assignment.h"
#include "training/run_directory.h"

namespace roformer {

struct ImportedRun {
  std::filesystem::path path;
  std::string model;               // "RoFormer with a masked language head"
  std::int64_t parameters = 0;     // numbers
  std::vector<std::string> notes;  // one sentence each
};

// Makes runs/NAME from the folder with one checkpoint, at step 0: task mlm for an encoder or a
// masked language model, causal_lm for Llama, Qwen and GPT-NeoX, glue for a classifier, translation
// for a MarianMTModel. Among the overrides are `run`, and for a classifier glue.task where the
// folder does not name it. A classifier whose classes have the task's names in another order is put
// into the task's. Throws Error as read_hugging_face_folder and RunDirectory do, and usage for keys
// that do not go with the folder; nothing is written then.
ImportedRun import_run(const std::filesystem::path& folder, const std::vector<Override>& overrides,
                       ExistingRun existing);

struct ExportedRun {
  std::filesystem::path checkpoint;
  std::string architecture;        // "BertForMaskedLM"
  std::vector<std::string> notes;  // one sentence each
};

// Writes the checkpoint of a run (`which` as find_checkpoint takes it) into a new folder, with
// these of its weights; none: the run's training.weights. Throws Error as find_checkpoint,
// weights_file, write_hugging_face_folder, write_causal_folder and write_marian_folder do.
ExportedRun export_run(const std::filesystem::path& run_or_checkpoint, const std::string& which,
                       const std::filesystem::path& folder,
                       std::optional<WeightsKind> weights = std::nullopt);

}  // namespace roformer
