// MarianMT (Opus-MT): a post-norm encoder-decoder with sinusoids, sines first, then cosines.
// translator.cpp handles the tables of tokens and the output bias. Field names and defaults:
// transformers' configuration_marian.py and the defaults of its generation.
#include <fmt/format.h>

#include <algorithm>

#include "config/schemes/sinusoidal.h"
#include "interop/expressible.h"
#include "interop/families/generation.h"
#include "interop/families/list.h"

namespace roformer {
namespace {

using nlohmann::json;
using Json = ConfigField::Json;

constexpr std::int64_t kStandardForcedEnd = 0;  // MarianConfig's default
constexpr double kMostRows = 1 << 24;
// torch's default; the configuration has no field for it
constexpr double kMarianNormEpsilon = 1e-5;

// The decoder's name of a number that it shares with the encoder in this program.
ConfigField of_decoder(std::string name, std::int64_t ModelSettings::*member, const char* encoder,
                       std::int64_t standard, const Range& range) {
  return {.name = name,
          .read =
              [=](const JsonFields& fields, Settings& settings) {
                const std::int64_t value = settings.model.*member;
                if (fields.count(name, standard, range) == value) return;
                fields.refuse(name, fmt::format("{}, as \"{}\"", value, encoder));
              },
          .write = [=](const ExportedConfig& c) { return c.settings.model.*member; }};
}

std::vector<ConfigField> marian_fields() {
  const auto token = [](std::int64_t TranslatorTokens::*member) {
    return [=](const ExportedConfig& c) { return c.tokens.*member; };
  };
  const Range most_heads = between(1, 1024), most_inner = between(1, 1 << 20);
  const std::vector<ConfigField> fields = {
      written("vocab_size", [](const ExportedConfig& c) { return c.rows.vocabulary; }),
      written("decoder_vocab_size", [](const ExportedConfig& c) { return c.rows.target; }),
      count("d_model", &ModelSettings::width, 1024, between(2, 65536)),
      count("encoder_layers", &ModelSettings::layers, 12, between(1, 1000)),
      decoder_layers("decoder_layers", 12),
      count("encoder_attention_heads", &ModelSettings::heads, 16, most_heads),
      of_decoder("decoder_attention_heads", &ModelSettings::heads, "encoder_attention_heads", 16,
                 most_heads),
      count("encoder_ffn_dim", &ModelSettings::feed_forward, 4096, most_inner),
      of_decoder("decoder_ffn_dim", &ModelSettings::feed_forward, "encoder_ffn_dim", 4096,
                 most_inner),
      activation("activation_function"),
      setting(
          "scale_embedding", &ModelSettings::embedding_scale,
          [](const JsonFields& fields, const std::string& name) {
            return fields.flag(name, false) ? EmbeddingScale::sqrt_width : EmbeddingScale::none;
          },
          [](EmbeddingScale scale) { return scale == EmbeddingScale::sqrt_width; }),
      flag("share_encoder_decoder_embeddings", &TranslationSettings::tie_embeddings, true),
      flag("tie_word_embeddings", &TranslationSettings::tie_output, true),
      positions(1024, 1 << 20),
      constant("static_position_embeddings", true),
      constant("normalize_before", false),
      constant("normalize_embedding", false),
      probability("dropout", &ModelSettings::dropout, 0.1),
      probability("attention_dropout", &AttentionSettings::dropout, 0),
      probability("activation_dropout", &TranslationSettings::activation_dropout, 0),
      epsilon("init_std", &ModelSettings::initialization, 0.02),
      written("pad_token_id", token(&TranslatorTokens::padding)),
      written("eos_token_id", token(&TranslatorTokens::end)),
      written("forced_eos_token_id", token(&TranslatorTokens::end)),
      written("decoder_start_token_id", token(&TranslatorTokens::begin)),
      constant("is_encoder_decoder", true),
      constant("torch_dtype", "float32")};
  return joined({class_fields(), fields});
}

void refuse_other_translators(const JsonFields& fields) {
  const json* const names = fields.find("architectures");
  if (names != nullptr && names->is_array() && !names->empty()) {
    const bool translator = std::ranges::any_of(
        *names, [](const json& name) { return name == "MarianMTModel" || name == "MarianModel"; });
    if (!translator) fields.refuse("architectures", "MarianMTModel, the translator");
  }
  for (const char* name : {"normalize_before", "normalize_embedding", "add_final_layer_norm"}) {
    require_flag(fields, name, false, false, "false: Marian is post-norm");
  }
  require_flag(fields, "static_position_embeddings", true, true, "true: positions are sinusoids");
}

void parse_marian(const JsonFields& fields, FolderConfig& config) {
  refuse_other_translators(fields);
  Settings& settings = config.settings;
  settings.task = TaskKind::translation;
  settings.model.norm = NormPlacement::post;
  settings.model.norm_epsilon = kMarianNormEpsilon;
  settings.position.scheme = "sinusoidal";
  settings.position.of<SinusoidalSettings>().layout = SinusoidalLayout::concat;
  TableRows& rows = config.rows;
  rows.vocabulary = fields.count("vocab_size", 58101, between(1, kMostRows));
  rows.target = fields.count("decoder_vocab_size", rows.vocabulary, between(1, kMostRows));
  rows.decoder_table = rows.target;
  read_fields(fields, config);
  if (settings.model.width % 2 != 0) fields.refuse("d_model", "an even number");
  require_divisor(fields, "encoder_attention_heads", settings.model.heads, "d_model",
                  settings.model.width);
  if (settings.translation.tie_embeddings && rows.vocabulary != rows.target) {
    fields.refuse("decoder_vocab_size", "\"vocab_size\", as the table is shared");
  }
}

void parse_marian_generation(const JsonFields& fields, const JsonFields& generation,
                             FolderConfig& config) {
  // A model without generation_config.json takes the field from its configuration class.
  read_generation(
      fields, generation,
      {.padding = 58100, .end = 0, .forced_end = config.has_generation ? -1 : kStandardForcedEnd},
      config);
}

void expect_marian(const Settings& settings, Wishes& wishes) {
  const ModelSettings& model = settings.model;
  const TranslationSettings& translation = settings.translation;
  for (const PositionSettings& position : {settings.position, settings.position.of_decoder()}) {
    const std::string& scheme = position.scheme;
    if (scheme != "sinusoidal") {
      wishes.expect(
          false,
          scheme == "rope"
              ? "positions are sinusoidal, not rope (CTranslate2 can run such a translator, but "
                "its "
                "converter cannot read one from a Hugging Face folder: make a TransformerSpec with "
                "rotary_dim and rotary_interleave and put these weights into it)"
              : fmt::format("positions are sinusoidal, not {}", scheme));
      break;
    }
    const auto& sinusoids = position.of<SinusoidalSettings>();
    wishes.expect(sinusoids.layout != SinusoidalLayout::tensor2tensor,
                  "its wavelengths are Vaswani's, not tensor2tensor's "
                  "(position.sinusoidal.layout)");
    wishes.expect(sinusoids.base == 10000, "its base is 10000 (position.sinusoidal.base)");
    wishes.expect(sinusoids.scale == 1,
                  "it adds sinusoids as they are (position.sinusoidal.scale 1)");
  }
  wishes.expect(settings.position.of_cross().scheme == "none",
                "its cross-attention has no positions (position.cross none)");
  wishes.expect(model.norm == NormPlacement::post,
                "it is post-norm, this translator is not (model.norm post)");
  expect_older_blocks(model, wishes);
  expect_plain_embedding(model, wishes);
  wishes.expect(translation.tie_output || !translation.tie_embeddings,
                "it ties the output to the table where the table is shared "
                "(translation.tie_output true)");
  expect_plain_attention(settings, wishes);
}

void note_marian(const Settings& settings, std::vector<std::string>& notes) {
  const DecodingSettings& decoding = settings.decoding;
  if (settings.model.norm_epsilon != kMarianNormEpsilon) {
    notes.push_back(
        fmt::format("Marian's LayerNorm adds 1e-5 to the variance, this model's {}: what the two "
                    "compute differs from the fifth digit on",
                    settings.model.norm_epsilon));
  }
  if (decoding.length_penalty == LengthPenalty::wu && decoding.alpha != 0) {
    notes.push_back(
        "generate() has no length penalty of Wu's: generation_config.json asks for the average "
        "(here: --length-penalty average --alpha 1)");
  }
  if (!decoding.free_end) {
    notes.push_back(
        "generate() ends a translation of max_length tokens at no cost; here its end counts "
        "(decoding.free_end false)");
  }
  if (decoding.longest_factor != 0) {
    notes.push_back(
        "generate() limits translations to max_length tokens, whatever the length of the source");
  }
}

}  // namespace

Family marian_family() {
  using enum Size;
  const Presence shared = [](const Settings& settings, std::int64_t) {
    return settings.translation.tie_embeddings;
  };
  const Presence separate = [](const Settings& settings, std::int64_t) {
    return !settings.translation.tie_embeddings;
  };
  const Presence untied = [](const Settings& settings, std::int64_t) {
    return !settings.translation.tie_output;
  };
  const std::vector<WeightRow> self_attention = {
      {"self_attn.[q_proj|k_proj|v_proj]", "attention.query_key_value", {heads, width}},
      {"self_attn.out_proj", "attention.output", {width, heads}},
      {"self_attn_layer_norm", "attention.norm", {width}},
  };
  const std::vector<WeightRow> cross_attention = {
      {"encoder_attn.q_proj", "cross_attention.query", {heads, width}},
      {"encoder_attn.[k_proj|v_proj]", "cross_attention.key_value", {heads, width}},
      {"encoder_attn.out_proj", "cross_attention.output", {width, heads}},
      {"encoder_attn_layer_norm", "cross_attention.norm", {width}},
  };
  const std::vector<WeightRow> feed_forward = {
      {"fc1", "feed_forward.inner", {inner, width}},
      {"fc2", "feed_forward.outer", {width, inner}},
      {"final_layer_norm", "feed_forward.norm", {width}},
  };
  const std::vector<WeightRow> rows = {
      {"shared.weight", "embedding.tokens.weight", {vocabulary, width}, shared},
      {"encoder.embed_tokens.weight",
       "encoder.embedding.tokens.weight",
       {vocabulary, width},
       separate},
      {"decoder.embed_tokens.weight",
       "decoder.embedding.tokens.weight",
       {decoder_table, width},
       separate},
      {"lm_head.weight", "output.weight", {target, width}, untied},
  };
  return {
      .type = "marian",
      .title = "MarianMTModel",
      .classes = "Marian",
      .kind = FamilyKind::translator,
      .fields = marian_fields(),
      .parse = parse_marian,
      .parse_generation = parse_marian_generation,
      .prefix = "model.",
      .unprefixed = {"lm_head.weight"},
      .body = {.rows = rows,
               .layers = {{"encoder.layers.{}.", "encoder.layers.{}.",
                           joined({self_attention, feed_forward})},
                          {"decoder.layers.{}.", "decoder.layers.{}.",
                           joined({self_attention, cross_attention, feed_forward})}},
               .twins = {{"encoder.embed_tokens.weight", "shared.weight"},
                         {"decoder.embed_tokens.weight", "shared.weight"},
                         {"lm_head.weight", "shared.weight"},
                         {"lm_head.weight", "decoder.embed_tokens.weight"}}},
      .sinusoids = {{"encoder.embed_positions.weight", "decoder.embed_positions.weight"}, width},
      .inside = {""},
      .output_bias = true,
      .expect = expect_marian,
      .least_positions = 1024,  // transformers' default
      .note = note_marian,
      .generation = write_generation,
  };
}

}  // namespace roformer
