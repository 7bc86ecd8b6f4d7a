// Writes a model as a folder that Hugging Face's transformers loads: config.json, model.safetensors
// and the tokenizer, as the family that can express it (expressible.h). CTranslate2's converter
// takes the last row of a Marian folder for padding and begins with zeros, which is neither so
// here: scripts/peers/ctranslate2_translate.py has a loader that converts one.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "config/settings.h"
#include "text/tokenizer.h"

namespace roformer {

struct ExportedModel {
  const Settings& settings;                          // of the run
  const std::map<std::string, at::Tensor>& tensors;  // by the names of this program's parameters
  const Tokenizer& tokenizer;                        // a translator's: the target's
  std::vector<std::string> labels = {};              // names of the classes; may be empty
  // Of a translator.
  const Tokenizer* source_tokenizer = nullptr;  // the same object where there is one tokenizer
  std::vector<std::int64_t> never = {};         // ids of the target that no translation contains
  std::int64_t begin = 0, end = 0;              // ids around a target
};

struct ExportSummary {
  std::string architecture;        // "RoFormerForMaskedLM"
  std::vector<std::string> notes;  // one sentence each
};

// The folder must not exist or be empty. Weights are written as float32 under the names of
// transformers, with every tensor that its class expects; a rotation of neighbouring features is
// written as one of halves where the family has that, with rows in its order. Throws Error: usage
// for a model that no family in transformers can express, in words, and for a folder with something
// in it.
ExportSummary write_hugging_face_folder(const ExportedModel& model,
                                        const std::filesystem::path& folder);

}  // namespace roformer
