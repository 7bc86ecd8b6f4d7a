// Reads a folder as Hugging Face's transformers writes it (config.json, model.safetensors or shards
// with an index, the tokenizer) with a model of one of the families (family.h). The weights come
// under the names of this program's parameters.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/settings.h"
#include "interop/family.h"
#include "text/tokenizer.h"

namespace roformer {

struct PretrainedModel {
  const Family* family = nullptr;
  // As FolderConfig has them (vocabulary: the rows of the table, which may be more than the
  // tokenizer's pieces), with what the tokenizer says of prompts and ends. A translator's: with
  // translation.output_bias, and model.vocabulary 0 where tables have one row a piece.
  Settings settings;
  // float32, on the CPU, owned. The body's always; "head.*" where the folder has a language head;
  // "pooler.*" and "classifier.*" where it has them, with ModernBERT's the "head.*" before it.
  std::map<std::string, at::Tensor> tensors;
  std::shared_ptr<const Tokenizer> tokenizer;         // a translator's: the target's
  std::shared_ptr<const Tokenizer> source_tokenizer;  // of a translator
  std::vector<std::string> notes;   // what was left out or differs, one sentence each
  std::vector<std::string> labels;  // names of the classes, where the folder gives them
  std::string task;                 // what it was fine-tuned on, where the folder says so ("mrpc")

  bool has_language_head() const { return tensors.contains("head.decoder.bias"); }
  bool has_classification_head() const { return classes() > 0; }
  std::int64_t classes() const;  // of the classification head; 0 without one
};

// True for a folder with a config.json that names a model_type.
bool is_hugging_face_folder(const std::filesystem::path& folder);
// The family that config.json names; null for one that is not read here, and for no such folder.
const Family* family_of_folder(const std::filesystem::path& folder);

// Throws Error (failure) for a file that is missing, damaged or of pickle's format, for a model of
// no family or that computes something else than this program, for weights that do not fit
// config.json or are not finite, and for a vocabulary larger than the weights have rows.
PretrainedModel read_hugging_face_folder(const std::filesystem::path& folder);
// Its settings alone. Throws the same errors where no weight must be read to find them.
Settings read_hugging_face_settings(const std::filesystem::path& folder);

}  // namespace roformer
