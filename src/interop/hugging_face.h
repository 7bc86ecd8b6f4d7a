// Reads a folder as Hugging Face's transformers writes it (config.json, model.safetensors or shards
// with an index, vocab.txt) with a BERT, RoFormer or ModernBERT: encoder, masked-language head,
// classification head. The weights come under the names of this program's parameters, so that
// whoever builds the model only has to fill it.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/settings.h"
#include "text/tokenizer.h"

namespace roformer {

struct PretrainedModel {
  // model.* (vocabulary: the rows of the table, which may be more than the tokenizer's pieces),
  // position.* and attention.*; glue.head, its dropout and glue.pooling as the family has them;
  // data.length: the longest text that it was built for. The rest at its default.
  Settings settings;
  // float32, on the CPU, owned. The encoder's always; "head.*" where the folder has a language
  // head; "pooler.*" (BERT) and "classifier.*" where it has them, with ModernBERT's the "head.*"
  // that stands in front of it.
  std::map<std::string, at::Tensor> tensors;
  std::unique_ptr<Tokenizer> tokenizer;
  std::vector<std::string> notes;   // what was left out or differs, one sentence each
  std::vector<std::string> labels;  // names of the classes, where the folder gives them
  std::string task;                 // what it was fine-tuned on, where the folder says so ("mrpc")
  std::string family;               // "BERT"; empty for causal language models

  bool has_language_head() const { return tensors.contains("head.decoder.bias"); }
  bool has_classification_head() const;
  std::int64_t classes() const;  // of the classification head; 0 without one
};

// True for a folder with a config.json that names a model_type.
bool is_hugging_face_folder(const std::filesystem::path& folder);

// Throws Error (failure) for a file that is missing, damaged or of pickle's format, for a model
// that is none of the three or computes something else than this program, for weights that
// do not fit config.json or are not finite, and for a vocabulary larger than the weights have rows.
PretrainedModel read_hugging_face_folder(const std::filesystem::path& folder);

}  // namespace roformer
