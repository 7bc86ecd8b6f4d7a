// Reads a folder that Hugging Face's transformers wrote: config.json, model.safetensors or
// pytorch_model.bin or shards with an index, and the tokenizer. Its model must belong to one of the
// families (family.h). The weights get the names of this program's parameters.
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
  // FolderConfig describes these settings. model.vocabulary counts the rows of the table, which may
  // exceed the tokenizer's pieces. The tokenizer adds the settings of prompts and ends. A
  // translator's settings include translation.output_bias; its model.vocabulary is 0 if the tables
  // have one row per piece.
  Settings settings;
  // float32 tensors on the CPU that own their memory. The body's tensors are always there; "head.*"
  // if the folder has a language head; "pooler.*" and "classifier.*" if it has them. A ModernBERT
  // classifier also has the "head.*" before its "classifier.*".
  std::map<std::string, at::Tensor> tensors;
  std::shared_ptr<const Tokenizer> tokenizer;         // for a translator: of the target
  std::shared_ptr<const Tokenizer> source_tokenizer;  // for a translator only
  std::vector<std::string> notes;               // what was left out or differs, one sentence each
  std::vector<std::string> labels;              // names of the classes if the folder gives them
  TargetKind target_kind = TargetKind::single;  // of the classes
  std::string task;         // the fine-tuning task if the folder names it ("mrpc")
  bool tags_words = false;  // the classes are tags of words (ForTokenClassification)

  bool has_language_head() const { return tensors.contains("head.decoder.bias"); }
  bool has_classification_head() const { return classes() > 0; }
  std::int64_t classes() const;  // of the classification head; 0: no such head
};

// The dropout before the head of a tagger that continues a model of the family. `settings` are the
// folder's.
double tagging_head_dropout(const Family& family, const Settings& settings);

// True for a folder with a config.json that names a model_type.
bool is_hugging_face_folder(const std::filesystem::path& folder);
// The family that config.json names; null if this program does not read that family or the folder
// is no Hugging Face folder.
const Family* family_of_folder(const std::filesystem::path& folder);

// Throws Error (failure) for a file that is missing or damaged, for a pickle of more than tensors;
// for a model of no known family or one that computes something that this program does not; for
// weights that do not fit config.json or are not finite; and for a vocabulary with more pieces than
// the weights have rows.
PretrainedModel read_hugging_face_folder(const std::filesystem::path& folder);
// Reads only the settings. Throws the same errors, except those that need the weights.
Settings read_hugging_face_settings(const std::filesystem::path& folder);

}  // namespace roformer
