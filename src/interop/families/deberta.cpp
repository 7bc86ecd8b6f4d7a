// DeBERTa-v2, which version 3 uses too (He 2021; He 2023): BERT's layers whose scores add products
// of content and distance. Field names and defaults: transformers' configuration_deberta_v2.py;
// share_att_key, position_buckets and norm_rel_ebd are read by its model and have no default there.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/parts.h"
#include "config/schemes/deberta.h"
#include "interop/families/encoder.h"
#include "interop/families/list.h"

namespace roformer {
namespace {

using Json = ConfigField::Json;

DebertaSettings& scheme_of(Settings& settings) {
  return settings.position.of<DebertaSettings>();
}
const DebertaSettings& scheme_of(const ExportedConfig& config) {
  return config.settings.position.of<DebertaSettings>();
}

// The words of a field that is a list, or one text with bars between them: "p2c|c2p".
std::vector<std::string> read_words(const JsonFields& fields, const char* name) {
  const nlohmann::json* const value = fields.find(name);
  if (value == nullptr || !value->is_string()) return read_names(fields, name);
  std::vector<std::string> words;
  const std::string text = value->get<std::string>();
  for (const std::string_view word : split_at(text, '|')) {
    if (!word.empty()) words.emplace_back(word);
  }
  return words;
}

void read_terms(const JsonFields& fields, Settings& settings) {
  DebertaSettings& deberta = scheme_of(settings);
  deberta.content_to_position = deberta.position_to_content = false;
  for (const std::string& word : read_words(fields, "pos_att_type")) {
    if (word != "c2p" && word != "p2c") fields.refuse("pos_att_type", "c2p, p2c or c2p|p2c");
    (word == "c2p" ? deberta.content_to_position : deberta.position_to_content) = true;
  }
  if (deberta.content_to_position || deberta.position_to_content) return;
  fields.refuse("pos_att_type", "c2p, p2c or c2p|p2c: without them nothing knows the positions");
}

void read_norm(const JsonFields& fields, Settings& settings) {
  for (const std::string& word : read_words(fields, "norm_rel_ebd")) {
    if (word == "layer_norm") scheme_of(settings).norm = true;
    if (word != "layer_norm" && word != "none") {
      fields.refuse("norm_rel_ebd", "layer_norm or none");
    }
  }
}

// Needs max_position_embeddings, which max_relative_positions falls back to.
void read_distances(const JsonFields& fields, Settings& settings) {
  DebertaSettings& deberta = scheme_of(settings);
  const Range any = between(-1, 1 << 20);
  const std::int64_t own = fields.count("max_relative_positions", -1, any);
  const std::int64_t most = own < 1 ? settings.data.length : own;
  const std::int64_t buckets = fields.count("position_buckets", -1, any);
  if (buckets < 1) {
    deberta.span = most;
    return;
  }
  if (buckets < 2 || most - 1 <= buckets / 2) {
    fields.refuse("position_buckets",
                  fmt::format("2 or more, and less than twice the longest distance, {}", most - 1));
  }
  deberta.buckets = buckets;
  deberta.max_position = most;
}

std::vector<ConfigField> deberta_fields() {
  const ConfigField head_dropout = classifier_dropout(-1, "cls_dropout");
  return encoder_fields(
      {.vocabulary = 128100, .layers = 24, .feed_forward = 6144}, tied_head(),
      {activation("hidden_act"),
       probability("hidden_dropout_prob", &ModelSettings::dropout, 0.1),
       probability("attention_probs_dropout_prob", &AttentionSettings::dropout, 0.1),
       count("type_vocab_size", &ModelSettings::token_types, 0, between(0, 64)),
       epsilon("layer_norm_eps", &ModelSettings::norm_epsilon, 1e-7),
       constant("relative_attention", true),
       constant("position_biased_input", false),
       {.name = "max_relative_positions",
        .read = read_distances,
        .write =
            [](const ExportedConfig& config) {
              const DebertaSettings& deberta = scheme_of(config);
              return deberta.buckets > 0 ? deberta.max_position : deberta.span;
            }},
       written("position_buckets",
               [](const ExportedConfig& config) {
                 const std::int64_t buckets = scheme_of(config).buckets;
                 return Json(buckets > 0 ? buckets : -1);
               }),
       {.name = "pos_att_type",
        .read = read_terms,
        .write =
            [](const ExportedConfig& config) {
              Json terms = Json::array();
              if (scheme_of(config).position_to_content) terms.push_back("p2c");
              if (scheme_of(config).content_to_position) terms.push_back("c2p");
              return terms;
            }},
       flag("share_att_key", &DebertaSettings::share_projections, false),
       {.name = "norm_rel_ebd",
        .read = read_norm,
        .write =
            [](const ExportedConfig& config) {
              return Json(scheme_of(config).norm ? "layer_norm" : "none");
            }},
       // The older names of the language head, which every release of transformers reads. The newer
       // head multiplies by the embedding whatever tie_word_embeddings says.
       {.name = "legacy",
        .read =
            [](const JsonFields& fields, Settings& settings) {
              if (!fields.flag("legacy", true)) settings.model.tie_output = true;
            },
        .write = [](const ExportedConfig&) { return Json(true); }},
       head_dropout,
       written("pooler_dropout", head_dropout.write),
       written("pooler_hidden_act", [](const ExportedConfig& config) {
         return config.classes > 0 ? activation("").write(config) : left_out();
       })});
}

// A size that this program has only as the width of the layers.
void require_width(const JsonFields& fields, const char* name, std::int64_t width,
                   const char* of = "hidden_size") {
  if (fields.count(name, width, between(1, 1 << 20)) == width) return;
  fields.refuse(name, fmt::format("{}, as \"{}\" has it", width, of));
}

void parse_deberta(const JsonFields& fields, FolderConfig& config) {
  Settings& settings = config.settings;
  require_flag(fields, "relative_attention", false, true, "true: scores know the distances");
  require_flag(fields, "position_biased_input", true, false,
               "false: no table of positions is added to the tokens");
  if (fields.count("conv_kernel_size", 0, between(0, 1 << 10)) > 0) {
    fields.refuse("conv_kernel_size", "0: there is no convolution beside the first layer here");
  }
  settings.position.scheme = "deberta";
  DebertaSettings& deberta = scheme_of(settings);
  deberta.index = DebertaIndex::code;
  deberta.bias = true;
  parse_bert_like(fields, config);
  deberta.norm_epsilon = settings.model.norm_epsilon;
  const std::int64_t width = settings.model.width;
  require_width(fields, "embedding_size", width);
  require_width(fields, "pooler_hidden_size", width);
  require_width(fields, "attention_head_size", settings.model.features_of_head(),
                "hidden_size\" / \"num_attention_heads");
  if (const std::string word = fields.text("pooler_hidden_act", "gelu");
      word != fields.text("hidden_act", "gelu") &&
      std::ranges::any_of(config.architectures, [](const std::string& name) {
        return name.ends_with("ForSequenceClassification");
      })) {
    fields.refuse("pooler_hidden_act", "the same activation as \"hidden_act\"");
  }
  settings.glue.head = ClassifierHead::roformer;
}

void expect_deberta(const Settings& settings, Wishes& wishes) {
  const auto& deberta = settings.position.of<DebertaSettings>();
  const ModelSettings& model = settings.model;
  wishes.expect(deberta.index == DebertaIndex::code,
                "distances have the released code's sign (position.deberta.index code)");
  wishes.expect(deberta.bias,
                "the projections of positions have biases (position.deberta.bias true)");
  wishes.expect(!deberta.norm || deberta.norm_epsilon == model.norm_epsilon,
                "the table's LayerNorm adds what the layers' do (position.deberta.norm_epsilon "
                "as model.norm_epsilon)");
  wishes.expect(model.embedding_width == 0 || model.embedding_width == model.width,
                "no projection follows the embedding's norm (model.embedding_width 0)");
  expect_bert_layers(settings, wishes);
  expect_head(settings, ClassifierHead::roformer, "DeBERTa", wishes);
}

// Version 3's own files, and transformers with "legacy": false, have the twins' names.
WeightGroup deberta_language_head() {
  using enum Size;
  WeightGroup group =
      with_decoder({{"cls.predictions.transform.dense", "head.dense", {width, width}},
                    {"cls.predictions.transform.LayerNorm", "head.norm", {width}}},
                   {.bias = "cls.predictions.bias",
                    .decoder_bias = "cls.predictions.decoder.bias",
                    .decoder = "cls.predictions.decoder.weight"},
                   width);
  const std::vector<Twin> newer = {
      Twin{"lm_predictions.lm_head.dense.weight", "cls.predictions.transform.dense.weight"},
      Twin{"lm_predictions.lm_head.dense.bias", "cls.predictions.transform.dense.bias"},
      Twin{"lm_predictions.lm_head.LayerNorm.weight", "cls.predictions.transform.LayerNorm.weight"},
      Twin{"lm_predictions.lm_head.LayerNorm.bias", "cls.predictions.transform.LayerNorm.bias"},
      Twin{"lm_predictions.lm_head.bias", "cls.predictions.bias"}};
  group.twins = joined({group.twins, newer});
  return group;
}

}  // namespace

Family deberta_family() {
  using enum Size;
  const Presence typed = [](const Settings& settings, std::int64_t) {
    return settings.model.token_types > 0;
  };
  const Presence normed = [](const Settings& settings, std::int64_t) {
    return settings.position.of<DebertaSettings>().norm;
  };
  const Presence keys = [](const Settings& settings, std::int64_t) {
    const auto& deberta = settings.position.of<DebertaSettings>();
    return !deberta.share_projections && deberta.content_to_position;
  };
  const Presence queries = [](const Settings& settings, std::int64_t) {
    const auto& deberta = settings.position.of<DebertaSettings>();
    return !deberta.share_projections && deberta.position_to_content;
  };
  const std::vector<WeightRow> rows = {
      {"embeddings.word_embeddings.weight", "embedding.tokens.weight", {vocabulary, width}},
      {"embeddings.token_type_embeddings.weight",
       "embedding.types.weight",
       {token_types, width},
       typed},
      {"embeddings.LayerNorm", "embedding.norm", {width}},
      {"encoder.rel_embeddings.weight", "position.table", {deberta_rows, width}},
      {"encoder.LayerNorm", "position.norm", {width}, normed},
  };
  const std::vector<WeightRow> layer = {
      {"attention.self.[query_proj|key_proj|value_proj]",
       "attention.query_key_value",
       {heads, width}},
      {"attention.self.pos_key_proj", "attention.position.key", {heads, width}, keys},
      {"attention.self.pos_query_proj", "attention.position.query", {heads, width}, queries},
      {"attention.output.dense", "attention.output", {width, heads}},
      {"attention.output.LayerNorm", "attention.norm", {width}},
      {"intermediate.dense", "feed_forward.inner", {inner, width}},
      {"output.dense", "feed_forward.outer", {width, inner}},
      {"output.LayerNorm", "feed_forward.norm", {width}},
  };
  return {
      .type = "deberta-v2",
      .title = "DeBERTa-v2",
      .classes = "DebertaV2",
      .fields = deberta_fields(),
      .parse = parse_deberta,
      .prefix = "deberta.",
      .unprefixed = {"pooler.dense.weight", "pooler.dense.bias"},
      .body = {.rows = rows, .layers = {{"encoder.layer.{}.", "layers.{}.", layer}}},
      .language_head = deberta_language_head(),
      .classification_head = {{{"pooler.dense", "classifier.dense", {width, width}},
                               {"classifier", "classifier.output", {Size::any, width}}}},
      .ignored_endings = {"position_ids"},
      .inside = {"encoder.", "embeddings"},
      .may_lack_token_types = true,
      .taggers_drop_as_layers = true,
      .expect = expect_deberta,
      .least_positions = 512,
      .note =
          [](const Settings& settings, std::vector<std::string>& notes) {
            if (settings.model.dropout == 0) return;
            notes.push_back(fmt::format(
                "in training transformers' DeBERTa also drops {} of its table of distances; this "
                "program does not",
                settings.model.dropout));
          },
  };
}

}  // namespace roformer
