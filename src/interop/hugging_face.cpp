#include "interop/hugging_face.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/few_of.h"
#include "base/file.h"
#include "base/json.h"
#include "base/printable.h"
#include "interop/folder.h"
#include "interop/folder_weights.h"
#include "interop/hugging_face_config.h"
#include "interop/hugging_face_names.h"
#include "interop/hugging_face_tokenizer.h"
#include "interop/other_folders.h"
#include "interop/rotary_sinusoids.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr const char* kConfig = "config.json";
constexpr const char* kOutputs = "cls.predictions.decoder.weight";
constexpr const char* kOutputBias = "cls.predictions.bias";
constexpr const char* kOldOutputBias = "cls.predictions.decoder.bias";
constexpr const char* kModernBertOutputs = "decoder.weight";
constexpr const char* kModernBertBias = "decoder.bias";

class FolderReader {
 public:
  explicit FolderReader(const fs::path& folder)
      : folder_(folder),
        config_(parse_hugging_face_config(read_file(folder / kConfig, kLargestDescription),
                                          (folder / kConfig).string())),
        weights_(folder, canonical_names(config_.family)) {}

  PretrainedModel read() {
    result_.settings = config_.settings;
    result_.labels = config_.labels;
    result_.task = config_.task;
    result_.notes = config_.notes;
    result_.family = family_name(config_.family);
    take(encoder_names(result_.settings, config_.family));
    if (config_.family == HuggingFaceFamily::modernbert) {
      read_modernbert_head();
    } else {
      check_sinusoids();
      read_language_head();
      read_classification_head();
    }
    report_rest();
    read_tokenizer();
    return std::move(result_);
  }

 private:
  const fs::path& folder_;
  HuggingFaceConfig config_;
  FolderWeights weights_;
  PretrainedModel result_;

  void take(const std::vector<WeightNames>& list) {
    for (const WeightNames& names : list) {
      std::vector<at::Tensor> parts;
      for (const std::string& name : names.theirs) {
        parts.push_back(weights_.take(name, names.shape));
      }
      result_.tensors[names.ours] = parts.size() == 1 ? parts[0] : at::cat(parts, 0);
    }
  }

  bool has_any(const std::vector<WeightNames>& list) const {
    return std::any_of(list.begin(), list.end(), [this](const WeightNames& names) {
      return weights_.contains(names.theirs.front());
    });
  }

  // The head of the architecture that config.json names; without a name, any.
  bool built_as(const char* what) const {
    const auto& names = config_.architectures;
    return names.empty() || std::any_of(names.begin(), names.end(), [&](const std::string& name) {
             return name.ends_with(what);
           });
  }

  // RoFormer's file carries the sines and cosines of its positions, [positions, head width].
  void check_sinusoids() {
    if (!weights_.contains(kSinusoidName)) return;
    const ModelSettings& model = result_.settings.model;
    const at::Tensor stored = weights_.take(kSinusoidName, {-1, model.width / model.heads});
    if (stored.numel() == 0) return;
    const double difference =
        (stored - rotary_sinusoids(stored.size(0), stored.size(1))).abs().max().item<double>();
    constexpr double kSinglePrecision = 1e-4, kHalfPrecision = 0.01;
    if (difference > kHalfPrecision) {
      throw_failure(
          weights_.location(),
          fmt::format("\"{}\" are not RoFormer's sines and cosines of base 10000", kSinusoidName));
    }
    if (difference > kSinglePrecision) {
      result_.notes.push_back(
          fmt::format("its stored sines and cosines are rounded, by up to {:.0e}; here they are "
                      "exact",
                      difference));
    }
  }

  void read_language_head() {
    std::vector<WeightNames> names = language_head_names(result_.settings, config_.family);
    if (!weights_.contains(kOutputBias) && weights_.contains(kOldOutputBias)) {
      for (WeightNames& weight : names) {
        if (weight.theirs.front() == kOutputBias) weight.theirs = {kOldOutputBias};
      }
    }
    if (!has_any(names)) return;
    take(names);
    const ModelSettings& model = result_.settings.model;
    const at::Tensor& table = result_.tensors.at("embedding.tokens.weight");
    const bool tied = !weights_.contains(kOutputs) ||
                      at::equal(weights_.take(kOutputs, table.sizes().vec()), table);
    const bool one_bias = !weights_.contains(kOldOutputBias) ||
                          at::equal(weights_.take(kOldOutputBias, {model.vocabulary}),
                                    result_.tensors.at("head.decoder.bias"));
    if (!tied || !one_bias) {
      throw_failure(weights_.location(),
                    fmt::format("\"{}\" differs from \"{}\"", tied ? kOldOutputBias : kOutputs,
                                tied ? kOutputBias : "embeddings.word_embeddings.weight"),
                    "this program's language head always shares the table of tokens");
    }
  }

  // Its classifiers have what stands in front of the language head's decoder, too.
  void read_modernbert_head() {
    const bool decodes =
        weights_.contains(kModernBertBias) || weights_.contains(kModernBertOutputs);
    const bool classifies = weights_.contains("classifier.weight");
    if (!weights_.contains("head.dense.weight")) return;
    if (decodes || !classifies) {
      read_modernbert_language_head();
    } else if (built_as("ForSequenceClassification")) {
      take(classification_head_names(result_.settings, config_.family));
      require_same_classes("classifier");
    }
  }

  void read_modernbert_language_head() {
    const ModelSettings& model = result_.settings.model;
    std::vector<WeightNames> names = language_head_names(result_.settings, config_.family);
    if (!config_.decoder_bias) {
      std::erase_if(names, [](const WeightNames& weight) {
        return weight.theirs.front() == kModernBertBias;
      });
      result_.tensors["head.decoder.bias"] = at::zeros({model.vocabulary}, at::kFloat);
      result_.notes.push_back(
          "its language head has no bias; here it has one, of zeros, which a training changes");
    }
    take(names);
    if (!model.tie_output || !weights_.contains(kModernBertOutputs)) return;
    const at::Tensor& table = result_.tensors.at("embedding.tokens.weight");
    if (at::equal(weights_.take(kModernBertOutputs, table.sizes().vec()), table)) return;
    throw_failure(
        weights_.location(),
        fmt::format("\"{}\" differs from the table of tokens, which config.json says it is",
                    kModernBertOutputs),
        "\"tie_word_embeddings\": false");
  }

  void require_same_classes(const std::string& last) const {
    if (result_.tensors.at(last + ".weight").size(0) ==
        result_.tensors.at(last + ".bias").size(0)) {
      return;
    }
    throw_failure(weights_.location(), "the classifier's weight and bias differ in their classes");
  }

  void read_classification_head() {
    if (config_.family == HuggingFaceFamily::bert && has_any(pooler_names(result_.settings))) {
      take(pooler_names(result_.settings));
    }
    const auto names = classification_head_names(result_.settings, config_.family);
    if (!has_any(names) || !built_as("ForSequenceClassification")) return;
    take(names);
    require_same_classes(config_.family == HuggingFaceFamily::bert ? "classifier"
                                                                   : "classifier.output");
  }

  void report_rest() {
    std::vector<std::string> left;
    for (const std::string& name : weights_.unused()) {
      if (name.ends_with("position_ids")) continue;  // 0, 1, 2, ...
      // What stands inside the encoder takes part in the computation.
      if (name.starts_with("encoder.") || name.starts_with("embeddings") ||
          name.starts_with("layers.") || name.starts_with("final_norm")) {
        throw_failure(weights_.location(),
                      fmt::format("holds {}, which transformers' {} does not have", printable(name),
                                  family_name(config_.family)),
                      "the model computes something else than config.json says");
      }
      left.push_back(printable(name));
    }
    if (left.empty()) return;
    result_.notes.push_back("left out, no part of this model: " + few_of(left, 6));
  }

  void read_tokenizer() {
    result_.tokenizer = read_hugging_face_tokenizer(folder_, result_.notes);
    const std::int64_t pieces = result_.tokenizer->vocabulary_size();
    const std::int64_t rows = result_.settings.model.vocabulary;
    if (pieces > rows) {
      throw_failure(
          folder_.string(),
          fmt::format("the vocabulary has {} pieces, the weights have rows for {}", pieces, rows),
          "vocabulary and weights must be of one model");
    }
    if (pieces < rows) {
      result_.notes.push_back(
          fmt::format("the weights have {} rows, the vocabulary {} pieces: the rest are never read",
                      rows, pieces));
    }
  }
};

}  // namespace

bool PretrainedModel::has_classification_head() const {
  return classes() > 0;
}

std::int64_t PretrainedModel::classes() const {
  for (const char* name : {"classifier.weight", "classifier.output.weight"}) {
    if (const auto found = tensors.find(name); found != tensors.end()) return found->second.size(0);
  }
  return 0;
}

bool is_hugging_face_folder(const fs::path& folder) {
  if (!is_there(folder / kConfig)) return false;
  const auto config = try_parse_json(read_file(folder / kConfig, kLargestDescription));
  return config && config->is_object() && config->contains("model_type");
}

PretrainedModel read_hugging_face_folder(const fs::path& folder) {
  if (!is_there(folder)) throw_failure(folder.string(), "there is no such folder");
  if (!is_there(folder / kConfig)) {
    refuse_adapter_folder(folder);
    throw_failure(folder.string(), "is no Hugging Face folder: it has no config.json",
                  "give the folder with config.json, model.safetensors and vocab.txt");
  }
  return FolderReader(folder).read();
}

}  // namespace roformer
