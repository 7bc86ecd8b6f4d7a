#include "interop/hugging_face_export.h"

#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/manifest.h"
#include "base/output_folder.h"
#include "config/schemes/learned.h"
#include "config/task_facts.h"
#include "interop/causal_names.h"
#include "interop/expressible.h"
#include "interop/hugging_face_config.h"
#include "interop/hugging_face_names.h"
#include "interop/hugging_face_tokenizer.h"
#include "interop/modernbert_layers.h"
#include "interop/new_folder.h"
#include "interop/rotary_sinusoids.h"
#include "tensor/safetensors.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

// transformers' default; its tables can hold no text that is longer.
constexpr std::int64_t kRoFormerMaxPositions = 1536;
// What ModernBERT's rotations, which have no table, are said to reach.
constexpr std::int64_t kModernBertMaxPositions = 8192;
constexpr std::int64_t kBertTokenTypes = 2;

class Exporter {
 public:
  explicit Exporter(const ExportedModel& model)
      : model_(model), settings_(model.settings), family_(family_of(settings_)) {
    settings_.model.vocabulary = weight("embedding.tokens.weight").size(0);
    if (family_ == HuggingFaceFamily::modernbert) fit_modernbert();
  }

  ExportSummary write(const fs::path& folder) {
    add(encoder_names(settings_, family_));
    if (family_ != HuggingFaceFamily::modernbert) add_token_types();
    if (family_ == HuggingFaceFamily::roformer) add_sinusoids();
    add_heads();
    for (const auto& [name, tensor] : model_.tensors) ROFORMER_ASSERT(written_.contains(name));
    require_new_folder(folder);
    OutputFolder output({.output = folder, .contents = "an empty folder"});
    write_hugging_face_tokenizer(model_.tokenizer, max_positions(), output.path(), summary_.notes);
    // "format" is what transformers demands of a file that it loads.
    write_safetensors(output.path() / "model.safetensors", tensors_, {{"format", "pt"}});
    write_file_atomically(output.path() / "config.json",
                          to_hugging_face_config(config()).dump(2) + "\n");
    Manifest::of(output.path()).write();
    output.commit();
    return std::move(summary_);
  }

 private:
  const ExportedModel& model_;
  Settings settings_;  // with the vocabulary
  HuggingFaceFamily family_;
  std::vector<NamedTensor> tensors_;
  std::set<std::string> written_;  // of ours
  std::map<std::string, at::Tensor>
      reordered_;  // of ours: weights with their rows in another order
  std::int64_t classes_ = 0;
  ExportSummary summary_;

  const at::Tensor& weight(const std::string& name) const {
    const auto found = model_.tensors.find(name);
    if (found == model_.tensors.end()) {
      throw_failure("export", "the model has no parameter \"" + name + "\"");
    }
    return found->second;
  }

  // Rotations of neighbours become rotations of halves.
  void fit_modernbert() {
    std::vector<std::string> problems;
    const ModernBertLayers layers = modernbert_layers_of(settings_, problems);
    const std::int64_t heads = settings_.model.heads, width = settings_.model.features_of_head();
    for (std::size_t layer = 0; layer < layers.layouts.size(); ++layer) {
      if (layers.layouts[layer] == RotaryLayout::half) continue;
      for (const char* ending : {"weight", "bias"}) {
        const std::string name =
            fmt::format("layers.{}.attention.query_key_value.{}", layer, ending);
        if (!model_.tensors.contains(name)) continue;
        reordered_[name] = neighbours_to_halves(weight(name), 2 * heads, width, width);
      }
    }
    const std::int64_t step = step_of_full_layers(layers.full);
    if (step == 0) {
      summary_.notes.push_back(
          "its layers without a window are not every n-th from the first: transformers 5 reads "
          "which they are, earlier releases cannot");
    }
    if (settings_.model.dropout > 0 || settings_.attention.dropout > 0) {
      summary_.notes.push_back(
          "its dropout has other places in transformers' ModernBERT, which matters when it is "
          "trained further there");
    }
  }

  void add_tensor(const std::string& canonical, const at::Tensor& value) {
    tensors_.push_back({.name = with_prefix(canonical, family_), .value = value.to(at::kFloat)});
  }

  void add(const std::vector<WeightNames>& list) {
    for (const WeightNames& names : list) {
      const auto other = reordered_.find(names.ours);
      const at::Tensor& value = other == reordered_.end() ? weight(names.ours) : other->second;
      const std::int64_t rows = value.size(0) / static_cast<std::int64_t>(names.theirs.size());
      ROFORMER_ASSERT(names.shape[0] == -1 || rows == names.shape[0]);
      for (std::size_t i = 0; i < names.theirs.size(); ++i) {
        add_tensor(names.theirs[i], value.narrow(0, static_cast<std::int64_t>(i) * rows, rows));
      }
      written_.insert(names.ours);
    }
  }

  // transformers' embedding always adds a token type's row: zeros add nothing.
  void add_token_types() {
    if (settings_.model.token_types > 0) return;
    const std::int64_t width = weight("embedding.tokens.weight").size(1);
    add_tensor("embeddings.token_type_embeddings.weight",
               at::zeros({kBertTokenTypes, width}, at::kFloat));
    summary_.notes.push_back("the model has no token types: their table is all zeros");
  }

  void add_sinusoids() {
    add_tensor(kSinusoidName,
               rotary_sinusoids(max_positions(), settings_.model.width / settings_.model.heads));
  }

  void add_heads() {
    const bool classifies = task_facts(settings_.task).exported == ExportForm::classifier;
    summary_.architecture = encoder_architecture(family_, classifies);
    if (!classifies) {
      add(language_head_names(settings_, family_));
      return;
    }
    if (family_ == HuggingFaceFamily::bert) add(pooler_names(settings_));
    add(classification_head_names(settings_, family_));
    classes_ = tensors_.back().value.size(0);
    if (family_ == HuggingFaceFamily::roformer &&
        settings_.glue.head_dropout != settings_.model.dropout) {
      summary_.notes.push_back(
          fmt::format("RoFormer's head takes the dropout of the encoder, {}, in training; this "
                      "model's was trained with {}",
                      settings_.model.dropout, settings_.glue.head_dropout));
    }
  }

  std::int64_t max_positions() const {
    if (family_ == HuggingFaceFamily::bert) return settings_.position.of<LearnedSettings>().length;
    return std::max(
        family_ == HuggingFaceFamily::roformer ? kRoFormerMaxPositions : kModernBertMaxPositions,
        settings_.data.length);
  }

  ExportedConfig config() const {
    return {.family = family_,
            .settings = settings_,
            .architecture = summary_.architecture,
            .token_types =
                settings_.model.token_types > 0 ? settings_.model.token_types : kBertTokenTypes,
            .positions = max_positions(),
            .padding = model_.tokenizer.special().padding,
            .classification = model_.tokenizer.special().classification,
            .separator = model_.tokenizer.special().separator,
            .classes = classes_,
            .labels = model_.labels};
  }
};

}  // namespace

ExportSummary write_hugging_face_folder(const ExportedModel& model, const fs::path& folder) {
  return Exporter(model).write(folder);
}

}  // namespace roformer
