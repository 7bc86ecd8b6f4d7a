// Writes a model as a folder that Hugging Face's transformers loads: config.json, model.safetensors
// and the tokenizer, as BertForMaskedLM, RoFormerForMaskedLM, ModernBertForMaskedLM or their
// ForSequenceClassification.
#pragma once

#include <ATen/core/Tensor.h>

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
  const Tokenizer& tokenizer;
  std::vector<std::string> labels = {};  // names of the classes; may be empty
};

struct ExportSummary {
  std::string architecture;        // "RoFormerForMaskedLM"
  std::vector<std::string> notes;  // one sentence each
};

// The folder must not exist or be empty. Weights are written as float32 under the names of
// transformers, with every tensor that its class expects. Throws Error: usage for a model that
// none of the three in transformers can express, and for a folder with something in it.
ExportSummary write_hugging_face_folder(const ExportedModel& model,
                                        const std::filesystem::path& folder);

}  // namespace roformer
