#include "interop/families/encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "config/schemes/learned.h"
#include "config/task_facts.h"
#include "config/words.h"
#include "interop/expressible.h"

namespace roformer {
namespace {

ConfigField::Json class_names(const ExportedConfig& config, bool by_number) {
  ConfigField::Json names = ConfigField::Json::object();
  for (std::int64_t i = 0; i < config.classes; ++i) {
    const auto index = static_cast<std::size_t>(i);
    const std::string name =
        index < config.labels.size() ? config.labels[index] : fmt::format("LABEL_{}", i);
    by_number ? names[std::to_string(i)] = name : names[name] = i;
  }
  return names;
}

std::vector<std::string> read_labels(const JsonFields& fields, TargetKind& kind) {
  constexpr std::size_t kMostLabels = 100'000;
  std::vector<std::string> labels;
  const nlohmann::json* map = fields.find("id2label");
  const std::string problem = fields.text("problem_type", "");
  if (problem == "multi_label_classification") kind = TargetKind::multi;
  if (problem == "regression") kind = TargetKind::regression;
  if (map == nullptr) return labels;  // transformers leaves out two classes of default names
  if (problem.empty() && map->size() == 1) kind = TargetKind::regression;
  if (problem == "regression" && map->size() != 1) {
    fields.refuse("problem_type", "single_label_classification for several labels");
  }
  const char* const wanted = "an object that names the classes \"0\", \"1\", ...";
  if (!map->is_object() || map->size() > kMostLabels) fields.refuse("id2label", wanted);
  for (std::size_t i = 0; i < map->size(); ++i) {
    const auto found = map->find(std::to_string(i));
    if (found == map->end() || !found->is_string()) fields.refuse("id2label", wanted);
    // transformers accepts a name twice; the classes of a run have different names.
    std::string name = found->get<std::string>();
    if (std::ranges::find(labels, name) != labels.end()) name = fmt::format("{}_{}", name, i);
    labels.push_back(std::move(name));
  }
  return labels;
}

}  // namespace

WeightGroup bert_body(Size position_rows) {
  using enum Size;
  const Presence learned = [](const Settings& settings, std::int64_t) {
    return settings.position.scheme == "learned";
  };
  const Presence relative = [](const Settings& settings, std::int64_t) {
    return settings.position.scheme == "shaw";
  };
  const Presence typed = [](const Settings& settings, std::int64_t) {
    return settings.model.token_types > 0;
  };
  const Presence narrow = [](const Settings& settings, std::int64_t) {
    const std::int64_t width = settings.model.embedding_width;
    return width > 0 && width != settings.model.width;
  };
  const WeightShape tokens = {vocabulary, embedding}, types = {token_types, embedding},
                    places = {position_rows, embedding};
  const std::vector<WeightRow> rows = {
      {"embeddings.word_embeddings.weight", "embedding.tokens.weight", tokens},
      {"embeddings.token_type_embeddings.weight", "embedding.types.weight", types, typed},
      {"embeddings.position_embeddings.weight", "position.table", places, learned},
      {"embeddings.LayerNorm", "embedding.norm", {embedding}},
      {"embeddings_project", "embedding.projection", {width, embedding}, narrow},
  };
  const std::vector<WeightRow> layer = {
      {"attention.self.[query|key|value]", "attention.query_key_value", {heads, width}},
      {"attention.self.distance_embedding.weight",
       "attention.position.key",
       {distances, head},
       relative},
      {"attention.output.dense", "attention.output", {width, heads}},
      {"attention.output.LayerNorm", "attention.norm", {width}},
      {"intermediate.dense", "feed_forward.inner", {inner, width}},
      {"output.dense", "feed_forward.outer", {width, inner}},
      {"output.LayerNorm", "feed_forward.norm", {width}},
  };
  return {.rows = rows,
          .layers = {{"encoder.layer.{}.", "layers.{}.", layer}},
          .idle = {{"embeddings.position_embeddings.weight", "", places, relative}}};
}

WeightGroup with_decoder(std::vector<WeightRow> before, const HeadNames& names, Size features) {
  using enum Size;
  const Presence tied = [](const Settings& settings, std::int64_t) {
    return settings.model.tie_output;
  };
  WeightGroup group = {.rows = std::move(before)};
  group.rows.push_back({names.bias, "head.decoder.bias", {vocabulary}, tied});
  group.rows.push_back({names.decoder_bias, "head.decoder.bias", {vocabulary}, has_own_output});
  group.rows.push_back(
      {names.decoder, "head.decoder.weight", {vocabulary, features}, has_own_output});
  group.twins = {{names.decoder, "embeddings.word_embeddings.weight"}};
  if (names.bias != names.decoder_bias) {
    group.twins.push_back({names.decoder_bias, names.bias});
    group.idle = {{names.bias, "head.decoder.bias", {vocabulary}, has_own_output}};
  }
  return group;
}

WeightGroup bert_language_head() {
  using enum Size;
  return with_decoder({{"cls.predictions.transform.dense", "head.dense", {embedding, width}},
                       {"cls.predictions.transform.LayerNorm", "head.norm", {embedding}}},
                      {.bias = "cls.predictions.bias",
                       .decoder_bias = "cls.predictions.decoder.bias",
                       .decoder = "cls.predictions.decoder.weight"},
                      embedding);
}

WeightGroup bert_pooler() {
  return {.rows = {{"pooler.dense", "pooler", {Size::width, Size::width}}}};
}

std::vector<ConfigField> encoder_fields(const EncoderDefaults& defaults, ConfigField tie,
                                        const std::vector<ConfigField>& own) {
  using Json = ConfigField::Json;
  const std::vector<ConfigField> shape = {
      count("vocab_size", &ModelSettings::vocabulary, defaults.vocabulary, between(1, 1 << 24)),
      count(defaults.names.width, &ModelSettings::width, defaults.width, between(1, 65536)),
      count(defaults.names.layers, &ModelSettings::layers, defaults.layers, between(1, 1000)),
      count(defaults.names.heads, &ModelSettings::heads, defaults.heads, between(1, 1024)),
      count(defaults.names.feed_forward, &ModelSettings::feed_forward, defaults.feed_forward,
            between(1, 1 << 20)),
      positions(defaults.positions, defaults.most_positions),
      epsilon("initializer_range", &ModelSettings::initialization, 0.02),
      written("pad_token_id", [](const ExportedConfig& c) { return id_or_null(c.padding); }),
      std::move(tie),
      constant("torch_dtype", "float32")};
  const auto of_classes = [](std::string name, auto write) {
    return written(std::move(name),
                   [=](const ExportedConfig& c) { return c.classes > 0 ? write(c) : left_out(); });
  };
  const std::vector<ConfigField> classes = {
      of_classes("id2label", [](const ExportedConfig& c) { return class_names(c, true); }),
      of_classes("label2id", [](const ExportedConfig& c) { return class_names(c, false); }),
      of_classes("problem_type", [](const ExportedConfig& c) {
        if (c.architecture.ends_with("ForTokenClassification")) return left_out();
        if (c.target_kind == TargetKind::multi) return Json("multi_label_classification");
        return Json(c.classes == 1 ? "regression" : "single_label_classification");
      })};
  return joined({class_fields(), shape, own, classes});
}

std::vector<ConfigField> bert_fields(const EncoderDefaults& defaults,
                                     const std::vector<ConfigField>& own) {
  const std::vector<ConfigField> table = {
      activation("hidden_act"), probability("hidden_dropout_prob", &ModelSettings::dropout, 0.1),
      probability("attention_probs_dropout_prob", &AttentionSettings::dropout, 0.1),
      setting(
          "type_vocab_size", &ModelSettings::token_types,
          [](const JsonFields& fields, const std::string& name) {
            return fields.count(name, 2, between(1, 64));
          },
          [](std::int64_t types) { return types > 0 ? types : kBertTokenTypes; }),
      epsilon("layer_norm_eps", &ModelSettings::norm_epsilon, 1e-12)};
  return encoder_fields(defaults, tied_head(), joined({table, own}));
}

ConfigField tied_head() {
  return flag("tie_word_embeddings", &ModelSettings::tie_output, true);
}

ConfigField embedding_size(std::int64_t standard) {
  return {.name = "embedding_size",
          .read =
              [=](const JsonFields& fields, Settings& settings) {
                const std::int64_t width = settings.model.width;
                const std::int64_t narrow = fields.count(
                    "embedding_size", standard > 0 ? standard : width, between(1, 65536));
                if (narrow != width) settings.model.embedding_width = narrow;
              },
          .write =
              [](const ExportedConfig& config) {
                const ModelSettings& model = config.settings.model;
                return model.embedding_width > 0 ? model.embedding_width : model.width;
              }};
}

ConfigField classifier_dropout(double standard, std::string name) {
  return {.name = name,
          .read =
              [=](const JsonFields& fields, Settings& settings) {
                settings.glue.head_dropout = fields.number(
                    name, standard < 0 ? settings.model.dropout : standard, below_one());
              },
          .write =
              [](const ExportedConfig& config) {
                return config.classes > 0
                           ? ConfigField::Json(classifier_settings(config.settings).head_dropout)
                           : left_out();
              }};
}

void refuse_decoders(const JsonFields& fields) {
  for (const char* name : {"is_decoder", "add_cross_attention"}) {
    require_flag(fields, name, false, false, "false: only encoders can be read");
  }
}

void require_absolute_positions(const JsonFields& fields) {
  if (fields.text("position_embedding_type", "absolute") == "absolute") return;
  fields.refuse("position_embedding_type", "absolute, the table of positions of BERT itself");
}

void require_gelu(const JsonFields& fields, const ModelSettings& model, const std::string& title) {
  if (model.activation == ActivationKind::gelu) return;
  fields.refuse("hidden_act", "gelu, which the head of " + title + " always has");
}

void read_classes(const JsonFields& fields, FolderConfig& config) {
  config.architectures = read_names(fields, "architectures");
  config.labels = read_labels(fields, config.target_kind);
  config.task = fields.text("finetuning_task", "");
}

void parse_bert_like(const JsonFields& fields, FolderConfig& config, const EncoderNames& names) {
  Settings& settings = config.settings;
  refuse_decoders(fields);
  settings.model.norm = NormPlacement::post;
  read_fields(fields, config);
  require_divisor(fields, names.heads, settings.model.heads, names.width, settings.model.width);
  settings.glue.head = ClassifierHead::bert;
  read_classes(fields, config);
}

void learn_positions(Settings& settings) {
  settings.position.scheme = "learned";
  settings.position.of<LearnedSettings>().length = settings.data.length;
}

void require_even_heads(const JsonFields& fields, const ModelSettings& model) {
  if (model.features_of_head() % 2 == 0) return;
  fields.refuse("num_attention_heads", "so many that a head has an even number of features");
}

void expect_table_encoder(const Settings& settings, const TableEncoder& encoder, Wishes& wishes) {
  const ModelSettings& model = settings.model;
  wishes.expect(!settings.position.of<LearnedSettings>().hierarchical,
                encoder.title + "'s table of positions is not hierarchical");
  wishes.expect(
      encoder.narrow || model.embedding_width == 0 || model.embedding_width == model.width,
      encoder.title + " has no projection after its embedding (model.embedding_width)");
  expect_bert_layers(settings, wishes);
  expect_head(settings, encoder.head, encoder.title, wishes);
}

void expect_gelu(const Settings& settings, const std::string& title, Wishes& wishes) {
  wishes.expect(settings.model.activation == ActivationKind::gelu,
                title + "'s head always has gelu (model.activation gelu)");
}

void expect_bert_layers(const Settings& settings, Wishes& wishes) {
  wishes.expect(settings.model.norm == NormPlacement::post,
                "layers are post-norm (model.norm post; ModernBERT is pre-norm with "
                "model.embedding_norm true)");
  expect_plain_attention(settings, wishes);
  wishes.expect(settings.model.embedding_scale == EmbeddingScale::none,
                "embeddings are not scaled (model.embedding_scale none)");
  wishes.expect(task_facts(settings.task).exported != ExportForm::none,
                "none is a matcher of texts");
  expect_older_blocks(settings.model, wishes);
}

void expect_head(const Settings& settings, ClassifierHead head, const std::string& title,
                 Wishes& wishes) {
  if (task_facts(settings.task).exported != ExportForm::classifier) return;
  wishes.expect(classifier_settings(settings).head == head,
                fmt::format("{}'s classification head is glue.head {}", title, to_word(head)));
  wishes.expect(classifier_settings(settings).pooling == TextPooling::first,
                "a classifier reads the first token's state (glue.pooling first)");
}

}  // namespace roformer
