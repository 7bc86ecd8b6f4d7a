// Reads a folder of Hugging Face's MarianMTModel (Opus-MT): config.json, generation_config.json,
// model.safetensors, source.spm, target.spm, vocab.json. The weights come under the names of this
// program's translator.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "config/settings.h"
#include "interop/marian_tokenizers.h"

namespace roformer {

struct PretrainedTranslator {
  // As MarianConfig has them, with translation.output_bias; model.vocabulary: 0.
  Settings settings;
  std::map<std::string, at::Tensor> tensors;  // float32, on the CPU, owned
  MarianTokenizers tokenizers;
  std::vector<std::string> notes;  // what was left out or differs, one sentence each
};

// True for a folder whose config.json has the model_type marian.
bool is_marian_folder(const std::filesystem::path& folder);

// Throws Error (failure) for a file that is missing, damaged or a pickle, for a model that computes
// something else than this program, and for weights that do not fit config.json or are not finite.
PretrainedTranslator read_marian_folder(const std::filesystem::path& folder);

}  // namespace roformer
