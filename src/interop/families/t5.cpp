// T5 (Raffel 2020) and its version 1.1: a pre-norm encoder-decoder with RMSNorm, no biases, no
// scale of the scores, and a bias of the distance that all layers of a stack share; and its encoder
// alone. Field names and defaults: transformers' configuration_t5.py.
//
// Version 1.0 divides the logits by the root of the width. Here the table of tokens is divided by
// it and the embeddings are multiplied (model.embedding_scale), which computes the same.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "config/schemes/none.h"
#include "config/schemes/t5.h"
#include "interop/expressible.h"
#include "interop/families/encoder.h"
#include "interop/families/generation.h"
#include "interop/families/list.h"
#include "interop/translator.h"

namespace roformer {
namespace {

using Json = ConfigField::Json;

constexpr std::int64_t kT5Length = 512;  // n_positions of the published models

// An export writes the first name of each kind. "gated-gelu" means the form with tanh.
constexpr FieldWords<ActivationKind> kFeedForwards = {
    {"relu", ActivationKind::relu},
    {"gated-gelu", ActivationKind::geglu_tanh},
    {"gated-gelu_new", ActivationKind::geglu_tanh},
    {"gated-silu", ActivationKind::swiglu},
    {"gated-swish", ActivationKind::swiglu},
    {"gelu", ActivationKind::gelu},
    {"gelu_new", ActivationKind::gelu_tanh},
    {"silu", ActivationKind::swish},
    {"swish", ActivationKind::swish}};

std::vector<ConfigField> t5_fields() {
  const auto token = [](std::int64_t TranslatorTokens::*member) {
    return [=](const ExportedConfig& c) { return Json(c.tokens.*member); };
  };
  const std::vector<ConfigField> fields = {
      written("vocab_size", [](const ExportedConfig& c) { return Json(c.rows.vocabulary); }),
      count("d_model", &ModelSettings::width, 512, between(1, 65536)),
      count("num_heads", &ModelSettings::heads, 8, between(1, 1024)),
      {.name = "d_kv",
       .read =
           [](const JsonFields& fields, Settings& settings) {
             ModelSettings& model = settings.model;
             const std::int64_t head = fields.count("d_kv", 64, between(1, 65536));
             model.head_width = head * model.heads == model.width ? 0 : head;
           },
       .write = [](const ExportedConfig& c) { return Json(c.settings.model.features_of_head()); }},
      count("d_ff", &ModelSettings::feed_forward, 2048, between(1, 1 << 20)),
      count("num_layers", &ModelSettings::layers, 6, between(1, 1000)),
      decoder_layers("num_decoder_layers", -1),
      setting(
          "feed_forward_proj", &ModelSettings::activation,
          [](const JsonFields& fields, const std::string& name) {
            return fields.choice(name, kFeedForwards);
          },
          [](ActivationKind kind) { return word_of(kFeedForwards, kind); }),
      count("relative_attention_num_buckets", &T5Settings::buckets, 32, between(2, 1 << 20)),
      count("relative_attention_max_distance", &T5Settings::max_distance, 128, between(2, 1 << 20)),
      {.name = "dropout_rate",
       .read =
           [](const JsonFields& fields, Settings& settings) {
             const double rate = fields.number("dropout_rate", 0.1, below_one());
             settings.model.dropout = settings.attention.dropout = rate;
             settings.translation.activation_dropout = rate;
           },
       .write = [](const ExportedConfig& c) { return Json(c.settings.model.dropout); }},
      epsilon("layer_norm_epsilon", &ModelSettings::norm_epsilon, 1e-6),
      positions(kT5Length, 1 << 20, "n_positions"),
      // False also means that the logits are not scaled.
      written("tie_word_embeddings",
              [](const ExportedConfig& c) {
                return Json(c.settings.translation.tie_output &&
                            c.settings.model.embedding_scale == EmbeddingScale::sqrt_width);
              }),
      written("pad_token_id", token(&TranslatorTokens::padding)),
      written("eos_token_id", token(&TranslatorTokens::end)),
      written("decoder_start_token_id", token(&TranslatorTokens::begin)),
      constant("is_encoder_decoder", true),
      constant("torch_dtype", "float32")};
  return joined({class_fields(), fields});
}

bool names_class(const nlohmann::json& config, std::string_view name) {
  const auto names = config.find("architectures");
  return names != config.end() && names->is_array() &&
         std::ranges::any_of(*names, [&](const nlohmann::json& one) { return one == name; });
}

bool is_encoder_alone(const nlohmann::json& config) {
  if (names_class(config, "T5EncoderModel")) return true;
  const auto pair = config.find("is_encoder_decoder");
  return pair != config.end() && *pair == false && !config.contains("architectures");
}

void read_stacks(const JsonFields& fields, FolderConfig& config) {
  Settings& settings = config.settings;
  settings.model.norm = NormPlacement::pre;
  settings.model.norm_kind = NormKind::rms_norm;
  settings.model.bias = false;
  settings.position.scheme = "t5";
  T5Settings& t5 = settings.position.of<T5Settings>();
  t5.scale = ScoreScale::none;
  read_fields(fields, config);
  if (t5.buckets % 4 != 0 || t5.max_distance <= t5.buckets / 4) {
    fields.refuse(
        "relative_attention_num_buckets",
        fmt::format("a multiple of 4 below 4 times \"relative_attention_max_distance\", {}",
                    t5.max_distance));
  }
}

void parse_t5_encoder(const JsonFields& fields, FolderConfig& config) {
  read_stacks(fields, config);
  config.settings.model.vocabulary = fields.count("vocab_size", 32128, between(1, 1 << 24));
  config.settings.translation = {};
  config.architectures = read_names(fields, "architectures");
}

void parse_t5(const JsonFields& fields, FolderConfig& config) {
  const std::vector<std::string> names = read_names(fields, "architectures");
  const bool translates = names.empty() || std::ranges::any_of(names, [](const std::string& name) {
                            return name == "T5ForConditionalGeneration" || name == "T5Model" ||
                                   name == "T5WithLMHeadModel";
                          });
  if (!translates) {
    fields.refuse("architectures", "T5ForConditionalGeneration or T5EncoderModel");
  }
  Settings& settings = config.settings;
  settings.task = TaskKind::translation;
  config.rows.vocabulary = fields.count("vocab_size", 32128, between(1, 1 << 24));
  config.rows.target = config.rows.decoder_table = config.rows.vocabulary;
  read_stacks(fields, config);
  settings.position.of<NoneSettings>().scale = ScoreScale::none;
  settings.translation.tie_embeddings = true;
  settings.translation.tie_output = false;
  config.output_by_weights = true;
  // transformers before 5 knows tie_word_embeddings alone.
  const bool tied = fields.flag("tie_word_embeddings", true);
  if (fields.flag("scale_decoder_outputs", tied)) {
    settings.model.embedding_scale = EmbeddingScale::sqrt_width;
  }
}

void parse_t5_generation(const JsonFields& fields, const JsonFields& generation,
                         FolderConfig& config) {
  read_generation(fields, generation, {.padding = 0, .end = 1}, config);
  if (config.settings.model.embedding_scale == EmbeddingScale::none) return;
  config.notes.push_back(
      "its logits are divided by the root of the width: here the table of tokens is, and the "
      "embeddings are multiplied by it, which computes the same");
}

void expect_t5(const Settings& settings, Wishes& wishes) {
  const ModelSettings& model = settings.model;
  const PositionSettings& position = settings.position;
  wishes.expect(position.of_decoder().scheme == "t5",
                "the decoder's positions are t5 too (position.decoder same)");
  wishes.expect(position.of_cross().scheme == "none",
                "its attention to the source has no positions (position.cross none)");
  wishes.expect(position.of<T5Settings>().scale == ScoreScale::none &&
                    position.of<NoneSettings>().scale == ScoreScale::none,
                "scores are not divided by the root of the head's width (position.t5.scale none "
                "and, for the attention to the source, position.none.scale none)");
  wishes.expect(model.norm == NormPlacement::pre && !model.embedding_norm && model.first_norm,
                "it is pre-norm (model.norm pre, model.embedding_norm false, model.first_norm "
                "true)");
  wishes.expect(model.norm_kind == NormKind::rms_norm,
                "norms are RMSNorm (model.norm_kind rms_norm)");
  wishes.expect(!model.bias && !model.query_key_value_bias && !model.attention_output_bias &&
                    !model.feed_forward_bias,
                "no layer has a bias (model.bias false)");
  wishes.expect(word_of(kFeedForwards, model.activation) != nullptr,
                "a gate has the GELU with tanh or swish (model.activation geglu_tanh or swiglu)");
  wishes.expect(model.heads_of_keys() == model.heads,
                "each head has its own keys and values (model.key_value_heads 0)");
  wishes.expect(!model.query_key_norm,
                "queries and keys have no norm (model.query_key_norm false)");
  wishes.expect(!model.parallel_residual,
                "attention comes before the feed-forward part (model.parallel_residual false)");
  wishes.expect(settings.translation.tie_embeddings,
                "source and target share one table (translation.tie_embeddings true)");
  wishes.expect(!settings.translation.output_bias,
                "the output has no bias (translation.output_bias false)");
  expect_plain_embedding(model, wishes);
  expect_plain_attention(settings, wishes);
}

void note_t5(const Settings& settings, std::vector<std::string>& notes) {
  const double rate = settings.model.dropout;
  if (settings.attention.dropout != rate || settings.translation.activation_dropout != rate) {
    notes.push_back(
        fmt::format("T5 has one dropout for all places: model.dropout, {}, is written", rate));
  }
}

nlohmann::ordered_json write_t5_generation(const ExportedConfig& config) {
  nlohmann::ordered_json document = write_generation(config);
  if (!config.settings.decoding.free_end) document.erase("forced_eos_token_id");
  return document;
}

bool has_gate(const Settings& settings, std::int64_t) {
  return is_gated(settings.model.activation);
}
bool has_no_gate(const Settings& settings, std::int64_t) {
  return !is_gated(settings.model.activation);
}

std::vector<WeightRow> encoder_rows() {
  using enum Size;
  return {{"layer.0.SelfAttention.[q|k|v]", "attention.query_key_value", {heads, width}},
          {"layer.0.SelfAttention.o", "attention.output", {width, heads}},
          {"layer.0.layer_norm", "attention.norm", {width}},
          {"layer.1.DenseReluDense.wi", "feed_forward.inner", {inner, width}, has_no_gate},
          {"layer.1.DenseReluDense.[wi_0|wi_1]", "feed_forward.inner", {inner, width}, has_gate},
          {"layer.1.DenseReluDense.wo", "feed_forward.outer", {width, inner}},
          {"layer.1.layer_norm", "feed_forward.norm", {width}}};
}

std::vector<WeightRow> decoder_rows() {
  using enum Size;
  return {{"layer.0.SelfAttention.[q|k|v]", "attention.query_key_value", {heads, width}},
          {"layer.0.SelfAttention.o", "attention.output", {width, heads}},
          {"layer.0.layer_norm", "attention.norm", {width}},
          {"layer.1.EncDecAttention.q", "cross_attention.query", {heads, width}},
          {"layer.1.EncDecAttention.[k|v]", "cross_attention.key_value", {heads, width}},
          {"layer.1.EncDecAttention.o", "cross_attention.output", {width, heads}},
          {"layer.1.layer_norm", "cross_attention.norm", {width}},
          {"layer.2.DenseReluDense.wi", "feed_forward.inner", {inner, width}, has_no_gate},
          {"layer.2.DenseReluDense.[wi_0|wi_1]", "feed_forward.inner", {inner, width}, has_gate},
          {"layer.2.DenseReluDense.wo", "feed_forward.outer", {width, inner}},
          {"layer.2.layer_norm", "feed_forward.norm", {width}}};
}

constexpr const char* kEncoderBias =
    "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight";
constexpr const char* kDecoderBias =
    "decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight";

}  // namespace

Family t5_encoder_family() {
  using enum Size;
  return {.type = "t5",
          .claims = is_encoder_alone,
          .title = "T5's encoder",
          .classes = "T5Encoder",
          .fields = t5_fields(),
          .parse = parse_t5_encoder,
          .body = {.rows = {{"shared.weight", "embedding.tokens.weight", {vocabulary, width}},
                            {kEncoderBias, "position.bias", {t5_buckets, head_count}},
                            {"encoder.final_layer_norm", "final_norm", {width}}},
                   .layers = {{"encoder.block.{}.", "layers.{}.", encoder_rows()}},
                   .twins = {{"encoder.embed_tokens.weight", "shared.weight"}}},
          .inside = {"encoder."}};
}

Family t5_family() {
  using enum Size;
  const Presence untied = [](const Settings& settings, std::int64_t) {
    return !settings.translation.tie_output;
  };
  // transformers takes a tied output to be scaled, so one that is not is written out.
  const Presence tied_unscaled = [](const Settings& settings, std::int64_t) {
    return settings.translation.tie_output &&
           settings.model.embedding_scale == EmbeddingScale::none;
  };
  return {
      .type = "t5",
      .title = "T5ForConditionalGeneration",
      .classes = "T5",
      .kind = FamilyKind::translator,
      .language_class = "ForConditionalGeneration",
      .fields = t5_fields(),
      .parse = parse_t5,
      .parse_generation = parse_t5_generation,
      .body = {.rows = {{"shared.weight", "embedding.tokens.weight", {vocabulary, width}},
                        {"lm_head.weight", "output.weight", {target, width}, untied},
                        {kEncoderBias, "encoder.position.bias", {t5_buckets, head_count}},
                        {kDecoderBias, "decoder.position.bias", {t5_buckets, head_count}},
                        {"encoder.final_layer_norm", "encoder.final_norm", {width}},
                        {"decoder.final_layer_norm", "decoder.final_norm", {width}}},
               .layers = {{"encoder.block.{}.", "encoder.layers.{}.", encoder_rows()},
                          {"decoder.block.{}.", "decoder.layers.{}.", decoder_rows()}},
               .twins = {{"encoder.embed_tokens.weight", "shared.weight"},
                         {"decoder.embed_tokens.weight", "shared.weight"},
                         {"lm_head.weight", "shared.weight"}}},
      // Older files have a bias that no layer reads.
      .ignored_endings = {"EncDecAttention.relative_attention_bias.weight"},
      .inside = {""},
      .table_factor =
          [](const Settings& settings) {
            const bool scaled = settings.model.embedding_scale == EmbeddingScale::sqrt_width;
            return scaled ? 1 / std::sqrt(static_cast<double>(settings.model.width)) : 1;
          },
      .repeated = {.rows = {{"lm_head.weight",
                             "embedding.tokens.weight",
                             {vocabulary, width},
                             tied_unscaled}}},
      .expect = expect_t5,
      .least_positions = kT5Length,
      .note = note_t5,
      .generation = write_t5_generation,
      .read_tokenizers = read_t5_tokenizer,
      .write_tokenizers = write_t5_tokenizer,
  };
}

}  // namespace roformer
