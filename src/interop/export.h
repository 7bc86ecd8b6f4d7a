// Writes a model as a folder that Hugging Face's transformers loads: config.json, model.safetensors
// and the tokenizer, in the form of the family that can express the model (expressible.h).
// CTranslate2's converter assumes that the last row of a Marian folder is the padding and that a
// translation begins with zeros. Neither is true here; scripts/peers/ctranslate2_translate.py has a
// loader that converts these folders.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/output_folder.h"
#include "config/settings.h"
#include "text/tokenizer.h"

namespace roformer {

struct ExportedModel {
  const Settings& settings;                          // the run's
  const std::map<std::string, at::Tensor>& tensors;  // under the names of this program's parameters
  const Tokenizer& tokenizer;                        // for a translator: of the target
  std::vector<std::string> labels = {};              // names of the classes; may be empty
  TargetKind target_kind = TargetKind::single;       // of the classes
  // For a translator only.
  const Tokenizer* source_tokenizer = nullptr;
  std::vector<std::int64_t> never = {};  // ids of the target that translations never contain
  std::int64_t begin = 0, end = 0;       // ids around a target
};

struct ExportSummary {
  std::string architecture;        // "RoFormerForMaskedLM"
  std::vector<std::string> notes;  // one sentence each
};

// The place of such a folder. --overwrite replaces only what an export wrote: a folder in which the
// user added or changed a file stays.
OutputFolder::Options exported_folder(const std::filesystem::path& folder, bool overwrite);

// Writes the weights as float32 under transformers' names,
// with every tensor that the class expects. A rotation of neighbouring features is written as a
// rotation of halves, with its rows reordered, where the family rotates halves. Throws Error
// (usage) for a model that no family in transformers can express, with the reasons, and as
// OutputFolder does.
ExportSummary write_hugging_face_folder(const ExportedModel& model,
                                        const std::filesystem::path& folder,
                                        bool overwrite = false);

}  // namespace roformer
