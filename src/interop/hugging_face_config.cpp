#include "interop/hugging_face_config.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "config/schemes/learned.h"
#include "config/schemes/rope.h"
#include "interop/activation_names.h"
#include "interop/config_fields.h"
#include "interop/modernbert_config.h"

namespace roformer {
namespace {

using nlohmann::json;

struct FamilyNames {
  std::string_view title, type;
};
// In the order of HuggingFaceFamily.
constexpr std::array kFamilies = {FamilyNames{"BERT", "bert"}, FamilyNames{"RoFormer", "roformer"},
                                  FamilyNames{"ModernBERT", "modernbert"}};

const FamilyNames& names_of(HuggingFaceFamily family) {
  return kFamilies[static_cast<std::size_t>(family)];
}

HuggingFaceFamily parse_family(const ConfigFields& fields, const std::string& file) {
  const std::string type = fields.text("model_type", "");
  for (std::size_t i = 0; i < kFamilies.size(); ++i) {
    if (type == kFamilies[i].type) return static_cast<HuggingFaceFamily>(i);
  }
  if (type.empty()) {
    throw_failure(file, "has no \"model_type\"",
                  "add \"model_type\": \"bert\", \"roformer\" or \"modernbert\"");
  }
  fields.refuse(
      "model_type",
      "bert, roformer, modernbert, marian, llama, qwen2, qwen3 or gpt_neox, the architectures that "
      "this program shares");
}

// What changes the computation and has no counterpart here.
void refuse_foreign(const ConfigFields& fields) {
  if (fields.flag("is_decoder", false) || fields.flag("add_cross_attention", false)) {
    fields.refuse(fields.flag("is_decoder", false) ? "is_decoder" : "add_cross_attention",
                  "false: only encoders can be read");
  }
  if (fields.text("position_embedding_type", "absolute") != "absolute") {
    fields.refuse("position_embedding_type", "absolute, the table of positions of BERT itself");
  }
}

std::vector<std::string> parse_architectures(const ConfigFields& fields) {
  std::vector<std::string> names;
  const json* list = fields.find("architectures");
  if (list == nullptr) return names;
  if (!list->is_array()) fields.refuse("architectures", "a list of names");
  for (const json& name : *list) {
    if (!name.is_string()) fields.refuse("architectures", "a list of names");
    names.push_back(name.get<std::string>());
  }
  return names;
}

std::vector<std::string> parse_labels(const ConfigFields& fields) {
  constexpr std::size_t kMostLabels = 100'000;
  std::vector<std::string> labels;
  const json* map = fields.find("id2label");
  if (map == nullptr) return labels;
  const std::string problem = fields.text("problem_type", "");
  if (problem == "multi_label_classification") {
    fields.refuse("problem_type",
                  "single_label_classification or regression: a text has one label here");
  }
  if (problem == "regression" && map->size() != 1) {
    fields.refuse("problem_type", "single_label_classification for several labels");
  }
  const char* const wanted = "an object that names the classes \"0\", \"1\", ...";
  if (!map->is_object() || map->size() > kMostLabels) fields.refuse("id2label", wanted);
  for (std::size_t i = 0; i < map->size(); ++i) {
    const auto found = map->find(std::to_string(i));
    if (found == map->end() || !found->is_string()) fields.refuse("id2label", wanted);
    labels.push_back(found->get<std::string>());
  }
  return labels;
}

ModelSettings parse_model(const ConfigFields& fields, HuggingFaceFamily family) {
  const bool roformer = family == HuggingFaceFamily::roformer;
  ModelSettings model{
      .layers = fields.count("num_hidden_layers", 12, 1, 1000),
      .width = fields.count("hidden_size", 768, 1, 65536),
      .heads = fields.count("num_attention_heads", 12, 1, 1024),
      .feed_forward = fields.count("intermediate_size", 3072, 1, 1 << 20),
      .vocabulary = fields.count("vocab_size", roformer ? 50000 : 30522, 1, 1 << 24),
      .token_types = fields.count("type_vocab_size", 2, 1, 64),
      .norm = NormPlacement::post,
      .activation = parse_activation(fields, "hidden_act"),
      .norm_epsilon = fields.small_number("layer_norm_eps", 1e-12),
      .dropout = fields.probability("hidden_dropout_prob", 0.1),
      .initialization = fields.small_number("initializer_range", 0.02)};
  if (model.width % model.heads != 0) {
    fields.refuse("num_attention_heads",
                  fmt::format("a divisor of \"hidden_size\", {}", model.width));
  }
  if (roformer) {
    const std::int64_t narrow = fields.count("embedding_size", model.width, 1, 65536);
    if (narrow != model.width) model.embedding_width = narrow;
    if (model.width / model.heads % 2 != 0) {
      fields.refuse("num_attention_heads", "so many that a head has an even number of features");
    }
  }
  return model;
}

PositionSettings parse_position(const ConfigFields& fields, HuggingFaceFamily family,
                                std::int64_t max_positions) {
  PositionSettings position;
  if (family == HuggingFaceFamily::bert) {
    position.scheme = "learned";
    position.of<LearnedSettings>().length = max_positions;
  } else {
    position.scheme = "rope";
    position.of<RopeSettings>().layout = RotaryLayout::interleaved;
    position.of<RopeSettings>().value = fields.flag("rotary_value", false);
  }
  return position;
}

Settings parse_settings(const ConfigFields& fields, HuggingFaceFamily family) {
  const bool roformer = family == HuggingFaceFamily::roformer;
  const std::int64_t max_positions =
      fields.count("max_position_embeddings", roformer ? 1536 : 512, 1, 1 << 20);
  Settings settings;
  settings.model = parse_model(fields, family);
  settings.attention.dropout = fields.probability("attention_probs_dropout_prob", 0.1);
  settings.position = parse_position(fields, family, max_positions);
  settings.data.length = max_positions;
  settings.glue.head = roformer ? ClassifierHead::roformer : ClassifierHead::bert;
  settings.glue.head_dropout =
      roformer ? settings.model.dropout
               : fields.probability("classifier_dropout", settings.model.dropout);
  return settings;
}

// What BERT and RoFormer have in config.json beside what every family has.
void add_bert_fields(const ExportedConfig& config, nlohmann::ordered_json& document) {
  const Settings& settings = config.settings;
  const ModelSettings& model = settings.model;
  document["hidden_act"] = activation_name(model.activation);
  document["hidden_dropout_prob"] = model.dropout;
  document["attention_probs_dropout_prob"] = settings.attention.dropout;
  document["type_vocab_size"] = config.token_types;
  document["layer_norm_eps"] = model.norm_epsilon;
  if (config.family == HuggingFaceFamily::roformer) {
    document["embedding_size"] = model.embedding_width > 0 ? model.embedding_width : model.width;
    document["rotary_value"] = settings.position.of<RopeSettings>().value;
  } else if (config.classes > 0) {
    document["classifier_dropout"] = settings.glue.head_dropout;
  }
}

void add_classes(const ExportedConfig& config, nlohmann::ordered_json& document) {
  nlohmann::ordered_json names = nlohmann::ordered_json::object(), numbers = names;
  for (std::int64_t i = 0; i < config.classes; ++i) {
    const auto index = static_cast<std::size_t>(i);
    const std::string name =
        index < config.labels.size() ? config.labels[index] : fmt::format("LABEL_{}", i);
    names[std::to_string(i)] = name;
    numbers[name] = i;
  }
  document["id2label"] = names;
  document["label2id"] = numbers;
  document["problem_type"] = config.classes == 1 ? "regression" : "single_label_classification";
}

}  // namespace

HuggingFaceConfig parse_hugging_face_config(std::string_view text, const std::string& file) {
  const json document = parse_json(text, file);
  if (!document.is_object()) throw_failure(file, "is not a JSON object");
  const ConfigFields fields(document, file);
  HuggingFaceConfig config{.family = parse_family(fields, file)};
  refuse_foreign(fields);
  if (config.family == HuggingFaceFamily::modernbert) {
    ModernBertConfig modernbert = parse_modernbert_config(document, file);
    config.settings = std::move(modernbert.settings);
    config.decoder_bias = modernbert.decoder_bias;
    config.notes = std::move(modernbert.notes);
  } else {
    config.settings = parse_settings(fields, config.family);
  }
  config.architectures = parse_architectures(fields);
  config.labels = parse_labels(fields);
  config.task = fields.text("finetuning_task", "");
  return config;
}

nlohmann::ordered_json to_hugging_face_config(const ExportedConfig& config) {
  const ModelSettings& model = config.settings.model;
  const bool modernbert = config.family == HuggingFaceFamily::modernbert;
  const auto id = [](std::int64_t value) { return value < 0 ? json() : json(value); };
  nlohmann::ordered_json document = {
      {"architectures", {config.architecture}},
      {"model_type", names_of(config.family).type},
      {"vocab_size", model.vocabulary},
      {"hidden_size", model.width},
      {"num_hidden_layers", model.layers},
      {"num_attention_heads", model.heads},
      {"intermediate_size", model.feed_forward},
      {"max_position_embeddings", config.positions},
      {"initializer_range", model.initialization},
      {"pad_token_id", id(config.padding)},
      {"tie_word_embeddings", model.tie_output},
      {"torch_dtype", "float32"},
  };
  if (modernbert) {
    add_modernbert_fields(config.settings, document);
    for (const char* name : {"cls_token_id", "bos_token_id"}) {
      document[name] = id(config.classification);
    }
    for (const char* name : {"sep_token_id", "eos_token_id"}) document[name] = id(config.separator);
  } else {
    add_bert_fields(config, document);
  }
  if (config.classes > 0) add_classes(config, document);
  return document;
}

std::string_view family_name(HuggingFaceFamily family) {
  return names_of(family).title;
}

}  // namespace roformer
