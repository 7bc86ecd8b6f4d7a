#include "interop/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/few_of.h"
#include "base/file.h"
#include "base/json.h"
#include "base/printable.h"
#include "config/schemes/rope.h"
#include "interop/causal_tokenizer.h"
#include "interop/embedder_folder.h"
#include "interop/encoder_tokenizer.h"
#include "interop/folder.h"
#include "interop/row_orders.h"
#include "interop/translator.h"
#include "tensor/aten.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

FolderConfig read_folder_config(const fs::path& folder) {
  const fs::path config = folder / kConfigFile, generation = folder / "generation_config.json";
  const std::string text = read_file(config, kLargestDescription);
  const Family* const family = family_of_folder(folder);
  const bool searches =
      family != nullptr && family->generation != nullptr && is_present(generation);
  const std::string search = searches ? read_file(generation, kLargestDescription) : "";
  FolderConfig result = parse_folder_config({.text = text, .file = config.string()},
                                            {.text = search, .file = generation.string()});
  if (is_embedder_folder(folder)) read_embedder_modules(folder, result.settings, result.notes);
  return result;
}

class FolderReader {
 public:
  explicit FolderReader(const fs::path& folder)
      : folder_(folder),
        config_(read_folder_config(folder)),
        family_(*config_.family),
        weights_(folder, family_.prefix) {}

  PretrainedModel read() {
    if (family_.kind == FamilyKind::translator) settle_tables(weights_, config_);
    result_.family = config_.family;
    result_.settings = config_.settings;
    result_.labels = config_.labels;
    result_.target_kind = config_.target_kind;
    result_.task = config_.task;
    result_.notes = config_.notes;
    for (const WeightGroup* group : {&family_.body, &family_.language_head}) {
      for (const FolderWeight& weight : expand(*group)) {
        for (const FolderWeight::Part& part : weight.parts) rows_of_map_.insert(part.theirs);
      }
    }
    take(family_.body);
    if (family_.kind == FamilyKind::encoder) {
      read_heads();
    } else {
      take(family_.language_head);
    }
    if (family_.kind == FamilyKind::translator) read_output_bias(weights_, config_, result_);
    check_sinusoids();
    refuse_or_note_rest();
    if (family_.table_factor != nullptr) {
      result_.tensors.at("embedding.tokens.weight").mul_(family_.table_factor(result_.settings));
    }
    read_tokenizer();
    return std::move(result_);
  }

 private:
  const fs::path& folder_;
  FolderConfig config_;
  const Family& family_;
  FolderWeights weights_;
  std::set<std::string> rows_of_map_;  // tensors that are parameters themselves rather than twins
  std::map<std::string, std::string> ours_;  // parameters that were taken, by our names
  PretrainedModel result_;

  std::vector<FolderWeight> expand(const WeightGroup& group) const {
    return expand_weights(group, config_.settings, config_.rows);
  }

  bool is_twin(const Twin& twin, const std::string& of) const {
    const std::string name(twin.name);
    return twin.of == of && !rows_of_map_.contains(name) && weights_.contains(name);
  }

  // The tensor of a part. A file of an older release may hold it under its twin's name only, or
  // under that of an idle tensor.
  std::string stored_name(const FolderWeight& weight, const FolderWeight::Part& part,
                          const WeightGroup& group) const {
    const std::string& name = part.theirs;
    if (weights_.contains(name)) return name;
    for (const Twin& twin : group.twins) {
      if (is_twin(twin, name)) return std::string(twin.name);
    }
    for (const FolderWeight& idle : expand_idle(group, config_.settings, config_.rows)) {
      const std::string& other = idle.parts.front().theirs;
      if (idle.ours == weight.ours && weights_.contains(other)) return other;
    }
    return name;
  }

  void take(const WeightGroup& group) {
    for (const FolderWeight& weight : expand(group)) {
      if (weight.parts.front().theirs == "decoder.bias" && !config_.decoder_bias) {
        result_.tensors[weight.ours] = at::zeros(weight.parts.front().shape, at::kFloat);
        result_.notes.push_back(
            "its language head has no bias; here it has one, of zeros, which a training changes");
        continue;
      }
      std::vector<at::Tensor> parts;
      for (const FolderWeight::Part& part : weight.parts) {
        parts.push_back(weights_.take(stored_name(weight, part, group), part.shape));
      }
      at::Tensor whole = parts.size() == 1 ? parts[0] : at::cat(parts, 0);
      if (weight.shape.transposed) whole = whole.t().contiguous();
      result_.tensors[weight.ours] = in_our_order(whole, {.rows = weight.shape.rows,
                                                          .heads = result_.settings.model.heads,
                                                          .of_padding = config_.rows.of_padding});
      ours_[weight.parts.front().theirs] = weight.ours;
    }
    for (const Twin& twin : group.twins) check_twin(twin);
    for (const FolderWeight& idle : expand_idle(group, config_.settings, config_.rows)) {
      weights_.ignore(idle.parts.front().theirs);
    }
  }

  // Rows of positions begin after that of the padding, and transformers gives none to it.
  void require_padding() const {
    const std::int64_t padding = result_.tokenizer->special().padding;
    if (!family_.pads_positions || padding < 0 || padding == config_.rows.of_padding - 1) return;
    throw_failure((folder_ / "config.json").string(),
                  fmt::format("\"pad_token_id\" is {}, and the tokenizer's padding is {}",
                              config_.rows.of_padding - 1, padding),
                  "the two must be the same token");
  }

  void check_twin(const Twin& twin) {
    const std::string name(twin.name);
    const auto found = ours_.find(std::string(twin.of));
    if (found == ours_.end() || !is_twin(twin, found->first)) return;
    const at::Tensor& value = result_.tensors.at(found->second);
    if (at::equal(weights_.take(name, value.sizes().vec()), value)) return;
    throw_failure(weights_.location(), fmt::format("\"{}\" differs from \"{}\"", name, twin.of),
                  "config.json says that they are one, by \"tie_word_embeddings\" or, for the "
                  "tables of two languages, \"share_encoder_decoder_embeddings\"");
  }

  bool has_any(const WeightGroup& group) const {
    const std::vector<FolderWeight> weights = expand(group);
    return std::ranges::any_of(weights, [&](const FolderWeight& weight) {
      return weights_.contains(stored_name(weight, weight.parts.front(), group));
    });
  }

  // Whether config.json names an architecture with this head; true if it names none.
  bool built_as(const char* what) const {
    const auto& names = config_.architectures;
    return names.empty() || std::ranges::any_of(names, [&](const std::string& name) {
             return name.ends_with(what);
           });
  }

  void read_heads() {
    bool language = has_any(family_.language_head);
    bool classifies = has_any(family_.classification_head);
    if (family_.one_head) {
      // Both heads begin with the same layers; the last layer tells the heads apart.
      const bool transforms = weights_.contains("head.dense.weight");
      const bool classifier = weights_.contains("classifier.weight");
      const bool decodes = weights_.contains("decoder.bias") || weights_.contains("decoder.weight");
      language = transforms && (decodes || !classifier);
      classifies = transforms && !language;
    }
    // Only the architecture tells a tagger from a classifier of whole texts.
    result_.tags_words = !config_.architectures.empty() && built_as("ForTokenClassification") &&
                         has_any(family_.tagging_head);
    if (result_.tags_words) return read_classes_of(family_.tagging_head);
    if (language) take(family_.language_head);
    if (has_any(family_.pooler)) take(family_.pooler);
    if (classifies && built_as("ForSequenceClassification")) {
      read_classes_of(family_.classification_head);
    }
  }

  void read_classes_of(const WeightGroup& head) {
    take(head);
    const std::string last = expand(head).back().ours;  // the head's bias
    const std::string name = last.substr(0, last.rfind('.'));
    const at::Tensor &weight = result_.tensors.at(name + ".weight"),
                     &bias = result_.tensors.at(name + ".bias");
    if (weight.size(0) == bias.size(0)) return;
    throw_failure(weights_.location(), "the classifier's weight and bias differ in their classes");
  }

  // The stored table is [positions, features].
  void check_sinusoids() {
    const ModelSettings& model = result_.settings.model;
    const std::int64_t features =
        family_.sinusoids.features == Size::head ? model.features_of_head() : model.width;
    for (const std::string_view view : family_.sinusoids.names) {
      const std::string name(view);
      if (!weights_.contains(name)) continue;
      const at::Tensor stored = weights_.take(name, {-1, features});
      if (stored.numel() == 0) continue;
      const double difference =
          (stored - sines_and_cosines(stored.size(0), features)).abs().max().item<double>();
      constexpr double kSinglePrecision = 1e-4, kHalfPrecision = 0.01;
      if (difference > kHalfPrecision) {
        throw_failure(weights_.location(),
                      fmt::format("\"{}\" are not sines and cosines of base 10000", name));
      }
      if (difference > kSinglePrecision && family_.kind == FamilyKind::encoder) {
        result_.notes.push_back(fmt::format(
            "its stored sines and cosines are rounded, by up to {:.0e}; here they are exact",
            difference));
      }
    }
  }

  void refuse_or_note_rest() {
    const auto is_any = [](const std::vector<std::string_view>& list, auto matches) {
      return std::ranges::any_of(list, matches);
    };
    std::vector<std::string> left;
    for (const std::string& name : weights_.unused()) {
      if (is_any(family_.ignored_endings,
                 [&](std::string_view ending) { return name.ends_with(ending); })) {
        continue;
      }
      if (is_any(family_.inside, [&](std::string_view start) { return name.starts_with(start); })) {
        throw_failure(weights_.location(),
                      fmt::format("holds {}, which transformers' {} does not have", printable(name),
                                  family_.title),
                      "the model computes something else than config.json says");
      }
      left.push_back(printable(name));
    }
    if (left.empty()) return;
    result_.notes.push_back("left out, no part of this model: " + few_of(left, 6));
  }

  void read_tokenizer() {
    switch (family_.kind) {
      case FamilyKind::translator:
        return finish_translator(folder_, config_, result_);
      case FamilyKind::causal:
        note_scaling_by_length();
        read_causal_tokenizer(folder_, result_);
        return require_rows(folder_, *result_.tokenizer, result_.settings.model.vocabulary);
      case FamilyKind::encoder:
        break;
    }
    result_.tokenizer = read_encoder_tokenizer(folder_, result_.notes);
    require_padding();
    const std::int64_t pieces = result_.tokenizer->vocabulary_size();
    const std::int64_t rows = result_.settings.model.vocabulary;
    require_rows(folder_, *result_.tokenizer, rows);
    if (pieces == rows) return;
    result_.notes.push_back(
        fmt::format("the weights have {} rows, the vocabulary {} pieces: the rest are never read",
                    rows, pieces));
  }

  void note_scaling_by_length() {
    const auto& rope = result_.settings.position.of<RopeSettings>();
    const bool dynamic = rope.scaling == RopeScaling::dynamic_ntk;
    if (!dynamic && rope.scaling != RopeScaling::longrope) return;
    result_.notes.push_back(fmt::format(
        "its rope_type is {}: beyond {} tokens generated texts differ from those of transformers, "
        "whose cache keeps the angles that keys were stored with; {}",
        dynamic ? "dynamic" : "longrope", rope.original_length,
        dynamic ? "here keys turn with the length, and what the layers computed before stays"
                : "here the whole text is read again with the new angles"));
  }
};

}  // namespace

std::int64_t PretrainedModel::classes() const {
  for (const char* name : {"classifier.weight", "classifier.output.weight"}) {
    if (const auto found = tensors.find(name); found != tensors.end()) return found->second.size(0);
  }
  return 0;
}

bool is_hugging_face_folder(const fs::path& folder) {
  if (!is_present(folder / kConfigFile)) return false;
  const auto config = try_parse_json(read_file(folder / kConfigFile, kLargestDescription));
  return config && config->is_object() && config->contains("model_type");
}

const Family* family_of_folder(const fs::path& folder) {
  if (!is_hugging_face_folder(folder)) return nullptr;
  const auto config = try_parse_json(read_file(folder / kConfigFile, kLargestDescription));
  return family_of_config(*config);
}

PretrainedModel read_hugging_face_folder(const fs::path& folder) {
  if (!is_present(folder)) throw_failure(folder.string(), "there is no such folder");
  if (!is_present(folder / kConfigFile)) {
    refuse_adapter_folder(folder);
    throw_failure(folder.string(), "is no Hugging Face folder: it has no config.json",
                  "give the folder with config.json, model.safetensors and vocab.txt");
  }
  return FolderReader(folder).read();
}

double tagging_head_dropout(const Family& family, const Settings& settings) {
  return family.taggers_drop_as_layers ? settings.model.dropout : settings.glue.head_dropout;
}

Settings read_hugging_face_settings(const fs::path& folder) {
  FolderConfig config = read_folder_config(folder);
  const FolderWeights listed(folder, config.family->prefix);
  return std::move(config.settings);
}

}  // namespace roformer
