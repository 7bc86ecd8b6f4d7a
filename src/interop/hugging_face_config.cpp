#include "interop/hugging_face_config.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"

namespace roformer {
namespace {

using nlohmann::json;

struct ActivationName {
  std::string_view theirs;
  ActivationKind ours;
};
// The first name of a kind is the one that is written.
constexpr std::array kActivations = {
    ActivationName{"gelu", ActivationKind::gelu},
    ActivationName{"gelu_python", ActivationKind::gelu},
    ActivationName{"gelu_new", ActivationKind::gelu_tanh},
    ActivationName{"gelu_pytorch_tanh", ActivationKind::gelu_tanh},
    ActivationName{"relu", ActivationKind::relu},
};

// The fields of a foreign object: each may be absent or null, which means the default, and must
// otherwise be of its type and within its range.
class Fields {
 public:
  Fields(const json& object, const std::string& file) : object_(object), file_(file) {}

  // Null where the field is absent or null.
  const json* find(const char* name) const {
    const auto found = object_.find(name);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }

  std::int64_t count(const char* name, std::int64_t standard, std::int64_t least,
                     std::int64_t most) const {
    const json* value = find(name);
    if (value == nullptr) return standard;
    const std::string wanted = fmt::format("an integer from {} to {}", least, most);
    if (!value->is_number_integer()) refuse(name, wanted);
    if (value->is_number_unsigned() &&
        value->get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
      refuse(name, wanted);
    }
    const auto number = value->get<std::int64_t>();
    if (number < least || number > most) refuse(name, wanted);
    return number;
  }

  // From `least` (left out where `open`) to below or at one.
  double share(const char* name, double standard, bool open_below, bool open_above) const {
    const json* value = find(name);
    if (value == nullptr) return standard;
    const std::string wanted = fmt::format("a number {} 0 and {} 1", open_below ? "above" : "from",
                                           open_above ? "below" : "up to");
    if (!value->is_number()) refuse(name, wanted);
    const double number = value->get<double>();
    const bool low = open_below ? number > 0 : number >= 0;
    const bool high = open_above ? number < 1 : number <= 1;
    if (!low || !high) refuse(name, wanted);
    return number;
  }

  bool flag(const char* name, bool standard) const {
    const json* value = find(name);
    if (value == nullptr) return standard;
    if (!value->is_boolean()) refuse(name, "true or false");
    return value->get<bool>();
  }

  std::string text(const char* name, const std::string& standard) const {
    const json* value = find(name);
    if (value == nullptr) return standard;
    if (!value->is_string()) refuse(name, "a text");
    return value->get<std::string>();
  }

  [[noreturn]] void refuse(const char* name, const std::string& wanted) const {
    throw_failure(file_, fmt::format("\"{}\" is {}, wanted {}", name, shortened(name), wanted));
  }

 private:
  const json& object_;
  const std::string& file_;

  std::string shortened(const char* name) const {
    constexpr std::size_t kLongest = 60;
    std::string text = object_.at(name).dump(-1, ' ', true, json::error_handler_t::replace);
    if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
    return text;
  }
};

HuggingFaceFamily parse_family(const Fields& fields, const std::string& file) {
  const std::string type = fields.text("model_type", "");
  if (type == "bert") return HuggingFaceFamily::bert;
  if (type == "roformer") return HuggingFaceFamily::roformer;
  if (type.empty()) {
    throw_failure(file, "has no \"model_type\"", "add \"model_type\": \"bert\" or \"roformer\"");
  }
  fields.refuse("model_type", "bert or roformer, the architectures that this program shares");
}

ActivationKind parse_activation(const Fields& fields) {
  const std::string name = fields.text("hidden_act", "gelu");
  std::string known;
  for (const ActivationName& activation : kActivations) {
    if (activation.theirs == name) return activation.ours;
    known += (known.empty() ? "" : ", ") + std::string(activation.theirs);
  }
  fields.refuse("hidden_act", "one of " + known);
}

// What changes the computation and has no counterpart here.
void refuse_foreign(const Fields& fields) {
  if (fields.flag("is_decoder", false) || fields.flag("add_cross_attention", false)) {
    fields.refuse(fields.flag("is_decoder", false) ? "is_decoder" : "add_cross_attention",
                  "false: only encoders can be read");
  }
  if (fields.text("position_embedding_type", "absolute") != "absolute") {
    fields.refuse("position_embedding_type", "absolute, the table of positions of BERT itself");
  }
}

std::vector<std::string> parse_architectures(const Fields& fields) {
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

std::vector<std::string> parse_labels(const Fields& fields) {
  constexpr std::size_t kMostLabels = 100'000;
  std::vector<std::string> labels;
  const json* map = fields.find("id2label");
  if (map == nullptr) return labels;
  const char* const wanted = "an object that names the classes \"0\", \"1\", ...";
  if (!map->is_object() || map->size() > kMostLabels) fields.refuse("id2label", wanted);
  for (std::size_t i = 0; i < map->size(); ++i) {
    const auto found = map->find(std::to_string(i));
    if (found == map->end() || !found->is_string()) fields.refuse("id2label", wanted);
    labels.push_back(found->get<std::string>());
  }
  return labels;
}

ModelSettings parse_model(const Fields& fields, HuggingFaceFamily family) {
  const bool roformer = family == HuggingFaceFamily::roformer;
  ModelSettings model{
      .layers = fields.count("num_hidden_layers", 12, 1, 1000),
      .width = fields.count("hidden_size", 768, 1, 65536),
      .heads = fields.count("num_attention_heads", 12, 1, 1024),
      .feed_forward = fields.count("intermediate_size", 3072, 1, 1 << 20),
      .vocabulary = fields.count("vocab_size", roformer ? 50000 : 30522, 1, 1 << 24),
      .token_types = fields.count("type_vocab_size", 2, 1, 64),
      .norm = NormPlacement::post,
      .activation = parse_activation(fields),
      .norm_epsilon = fields.share("layer_norm_eps", 1e-12, true, false),
      .dropout = fields.share("hidden_dropout_prob", 0.1, false, true),
      .initialization = fields.share("initializer_range", 0.02, true, false)};
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

PositionSettings parse_position(const Fields& fields, HuggingFaceFamily family,
                                std::int64_t places) {
  PositionSettings position;
  if (family == HuggingFaceFamily::bert) {
    position.scheme = "learned";
    position.learned.length = places;
  } else {
    position.scheme = "rope";
    position.rope.layout = RotaryLayout::interleaved;
    position.rope.value = fields.flag("rotary_value", false);
  }
  return position;
}

}  // namespace

HuggingFaceConfig parse_hugging_face_config(std::string_view text, const std::string& file) {
  const json document = json::parse(text.begin(), text.end(), nullptr, false);
  if (!document.is_object()) throw_failure(file, "is not a JSON object");
  const Fields fields(document, file);
  HuggingFaceConfig config{.family = parse_family(fields, file)};
  refuse_foreign(fields);
  const bool roformer = config.family == HuggingFaceFamily::roformer;
  const std::int64_t places =
      fields.count("max_position_embeddings", roformer ? 1536 : 512, 1, 1 << 20);
  Settings& settings = config.settings;
  settings.model = parse_model(fields, config.family);
  settings.attention.dropout = fields.share("attention_probs_dropout_prob", 0.1, false, true);
  settings.position = parse_position(fields, config.family, places);
  settings.data.length = places;
  settings.glue.head = roformer ? ClassifierHead::roformer : ClassifierHead::bert;
  settings.glue.head_dropout =
      roformer ? settings.model.dropout
               : fields.share("classifier_dropout", settings.model.dropout, false, true);
  config.architectures = parse_architectures(fields);
  config.labels = parse_labels(fields);
  config.task = fields.text("finetuning_task", "");
  return config;
}

nlohmann::ordered_json to_hugging_face_config(const ExportedConfig& config) {
  const Settings& settings = config.settings;
  const ModelSettings& model = settings.model;
  const bool roformer = config.family == HuggingFaceFamily::roformer;
  std::string_view activation;
  for (const ActivationName& name : kActivations) {
    if (activation.empty() && name.ours == model.activation) activation = name.theirs;
  }
  nlohmann::ordered_json document = {
      {"architectures", {config.architecture}},
      {"model_type", roformer ? "roformer" : "bert"},
      {"vocab_size", model.vocabulary},
      {"hidden_size", model.width},
      {"num_hidden_layers", model.layers},
      {"num_attention_heads", model.heads},
      {"intermediate_size", model.feed_forward},
      {"hidden_act", activation},
      {"hidden_dropout_prob", model.dropout},
      {"attention_probs_dropout_prob", settings.attention.dropout},
      {"max_position_embeddings", config.positions},
      {"type_vocab_size", config.token_types},
      {"initializer_range", model.initialization},
      {"layer_norm_eps", model.norm_epsilon},
      {"pad_token_id", config.padding < 0 ? json() : json(config.padding)},
      {"tie_word_embeddings", true},
      {"torch_dtype", "float32"},
  };
  if (roformer) {
    document["embedding_size"] = model.embedding_width > 0 ? model.embedding_width : model.width;
    document["rotary_value"] = settings.position.rope.value;
  } else if (config.classes > 0) {
    document["classifier_dropout"] = settings.glue.head_dropout;
  }
  if (config.classes > 0) {
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
  return document;
}

HuggingFaceFamily family_of(const Settings& settings) {
  const PositionSettings& position = settings.position;
  const ModelSettings& model = settings.model;
  std::vector<std::string> problems;
  const auto expect = [&](bool holds, std::string problem) {
    if (!holds) problems.push_back(std::move(problem));
  };
  const bool bert = position.scheme == "learned", roformer = position.scheme == "rope";
  expect(bert || roformer, fmt::format("positions are learned in BERT and rope in RoFormer, not {}",
                                       position.scheme));
  expect(!bert || !position.learned.hierarchical, "BERT's table of positions is not hierarchical");
  expect(!bert || model.embedding_width == 0 || model.embedding_width == model.width,
         "BERT has no projection behind its embedding (model.embedding_width)");
  if (roformer) {
    const PositionSettings::Rope& rope = position.rope;
    expect(rope.layout == RotaryLayout::interleaved,
           "RoFormer turns neighbouring features (position.rope.layout interleaved)");
    expect(rope.base == 10000, "RoFormer's base is 10000 (position.rope.base)");
    expect(rope.fraction == 1, "RoFormer turns whole heads (position.rope.fraction 1)");
    expect(rope.offset == 0, "RoFormer's positions begin at 0 (position.rope.offset)");
    expect(rope.scaling == RopeScaling::none,
           "RoFormer has no frequency scaling (position.rope.scaling none)");
  }
  expect(settings.task != TaskKind::causal_lm, "both are encoders, not causal language models");
  expect(model.norm == NormPlacement::post, "both are post-norm (model.norm post)");
  expect(model.embedding_scale == EmbeddingScale::none,
         "neither scales its embedding (model.embedding_scale none)");
  expect(settings.attention.kernel == AttentionKernel::softmax,
         "both have softmax attention (attention.kernel softmax)");
  expect(settings.attention.log_n == LogNScaling::none,
         "neither scales scores with the length (attention.log_n none)");
  expect(settings.attention.window == 0, "neither has a window (attention.window 0)");
  if (settings.task == TaskKind::glue && (bert || roformer)) {
    const ClassifierHead theirs = bert ? ClassifierHead::bert : ClassifierHead::roformer;
    expect(settings.glue.head == theirs,
           bert ? "BERT's classification head is glue.head bert"
                : "RoFormer's classification head is glue.head roformer");
  }
  if (!problems.empty()) {
    throw_usage("export", "transformers' BERT and RoFormer cannot express this model: " +
                              fmt::format("{}", fmt::join(problems, "; ")));
  }
  return bert ? HuggingFaceFamily::bert : HuggingFaceFamily::roformer;
}

std::string_view family_name(HuggingFaceFamily family) {
  return family == HuggingFaceFamily::bert ? "BERT" : "RoFormer";
}

}  // namespace roformer
