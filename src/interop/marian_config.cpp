#include "interop/marian_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "config/schemes/sinusoidal.h"
#include "interop/activation_names.h"
#include "interop/config_fields.h"

namespace roformer {
namespace {

using nlohmann::json;

constexpr std::int64_t kStandardLength = 20;    // of generate(), where nothing is said
constexpr std::int64_t kStandardForcedEnd = 0;  // of MarianConfig

// Encoder and decoder have one width, one number of heads and one inner width here.
std::int64_t of_both(const ConfigFields& fields, const char* encoder, const char* decoder,
                     std::int64_t standard, std::int64_t most) {
  const std::int64_t value = fields.count(encoder, standard, 1, most);
  if (fields.count(decoder, standard, 1, most) != value) {
    fields.refuse(decoder, fmt::format("{}, as \"{}\"", value, encoder));
  }
  return value;
}

ModelSettings parse_marian_model(const ConfigFields& fields) {
  ModelSettings model{
      .layers = fields.count("encoder_layers", 12, 1, 1000),
      .width = fields.count("d_model", 1024, 2, 65536),
      .heads = of_both(fields, "encoder_attention_heads", "decoder_attention_heads", 16, 1024),
      .feed_forward = of_both(fields, "encoder_ffn_dim", "decoder_ffn_dim", 4096, 1 << 20),
      .norm = NormPlacement::post,
      .activation = parse_activation(fields, "activation_function"),
      .norm_epsilon = kMarianNormEpsilon,
      .dropout = fields.probability("dropout", 0.1),
      .embedding_scale =
          fields.flag("scale_embedding", false) ? EmbeddingScale::sqrt_width : EmbeddingScale::none,
      .initialization = fields.small_number("init_std", 0.02)};
  if (model.width % 2 != 0) fields.refuse("d_model", "an even number");
  if (model.width % model.heads != 0) {
    fields.refuse("encoder_attention_heads",
                  fmt::format("a divisor of \"d_model\", {}", model.width));
  }
  return model;
}

TranslationSettings parse_translation(const ConfigFields& fields, std::int64_t encoder_layers) {
  const std::int64_t layers = fields.count("decoder_layers", 12, 1, 1000);
  return {.decoder_layers = layers == encoder_layers ? 0 : layers,
          .tie_embeddings = fields.flag("share_encoder_decoder_embeddings", true),
          .tie_output = fields.flag("tie_word_embeddings", true),
          .activation_dropout = fields.probability("activation_dropout", 0)};
}

void refuse_other_classes(const ConfigFields& fields) {
  const json* const names = fields.find("architectures");
  if (names == nullptr || !names->is_array() || names->empty()) return;
  const bool translator = std::ranges::any_of(
      *names, [](const json& name) { return name == "MarianMTModel" || name == "MarianModel"; });
  if (!translator) fields.refuse("architectures", "MarianMTModel, the translator");
}

// What changes the computation and has no counterpart here.
void refuse_other_layers(const ConfigFields& fields) {
  for (const char* name : {"normalize_before", "normalize_embedding", "add_final_layer_norm"}) {
    if (fields.flag(name, false)) fields.refuse(name, "false: Marian is post-norm");
  }
  if (fields.flag("static_position_embeddings", true) == false) {
    fields.refuse("static_position_embeddings", "true: positions are sinusoids");
  }
}

double parse_penalty(const ConfigFields& fields) {
  const json* value = fields.find("length_penalty");
  if (value == nullptr) return 1;
  const double penalty = value->is_number() ? value->get<double>() : -1;
  if (!(penalty >= 0 && penalty <= 10)) fields.refuse("length_penalty", "a number from 0 to 10");
  return penalty;
}

StoppingRule parse_stopping(const ConfigFields& fields) {
  const json* value = fields.find("early_stopping");
  if (value != nullptr && value->is_string()) {
    if (value->get_ref<const std::string&>() == "never") return StoppingRule::exact;
    fields.refuse("early_stopping", "true, false or \"never\"");
  }
  return fields.flag("early_stopping", false) ? StoppingRule::full : StoppingRule::estimate;
}

DecodingSettings parse_decoding(const ConfigFields& fields) {
  constexpr std::int64_t kMost = 1 << 20;
  const std::int64_t longest = fields.count("max_length", kStandardLength, 2, kMost);
  return {.beam = fields.count("num_beams", 1, 1, 1000),
          .length_penalty = LengthPenalty::average,
          .alpha = parse_penalty(fields),
          .stopping = parse_stopping(fields),
          .renormalize = fields.flag("renormalize_logits", false),
          .repetition_penalty = fields.number("repetition_penalty", 1, 0.01, 100),
          .no_repeat_ngram = fields.count("no_repeat_ngram_size", 0, 0, kMost),
          .longest_factor = 0,
          .longest_extra = fields.count("max_new_tokens", longest - 1, 1, kMost)};
}

// What generate() does to the first and to the last token of a text, whatever the model makes of
// them. `standard`: the end that is forced where the file does not say.
void parse_forced_tokens(const ConfigFields& fields, const MarianTokens& tokens, std::int64_t rows,
                         std::int64_t standard, DecodingSettings& decoding,
                         std::vector<std::string>& notes) {
  decoding.first_token = fields.count("forced_bos_token_id", -1, 0, rows - 1);
  const json* const end = fields.find("forced_eos_token_id");
  const bool listed = end != nullptr && end->is_array() && end->size() == 1;
  const json id = listed ? end->front() : end != nullptr ? *end : json(standard);
  decoding.free_end = id == tokens.end;
  if (decoding.free_end) return;
  notes.push_back(
      id == -1 ? "its generate() breaks a text off at max_length tokens; here it gets its end there"
               : fmt::format("its generate() has forced_eos_token_id {}, which is not the end, {}; "
                             "here a text of the longest length gets its end",
                             describe_json(id), tokens.end));
}

// Single ids among bad_words_ids ([[7], [8, 9]]) and suppress_tokens ([7]).
std::vector<std::int64_t> parse_never(const ConfigFields& fields) {
  std::vector<std::int64_t> never;
  for (const char* name : {"bad_words_ids", "suppress_tokens"}) {
    const json* list = fields.find(name);
    if (list == nullptr) continue;
    if (!list->is_array()) fields.refuse(name, "a list");
    for (const json& entry : *list) {
      const bool nested = entry.is_array() && entry.size() == 1;
      const json& id = nested ? entry[0] : entry;
      if (id.is_number_integer()) never.push_back(id.get<std::int64_t>());
    }
  }
  return never;
}

std::vector<std::string> parse_notes(const ConfigFields& fields) {
  struct Neutral {
    const char* name;
    double value;
  };
  std::vector<std::string> notes;
  for (const auto& [name, neutral] :
       {Neutral{"min_length", 0}, Neutral{"num_beam_groups", 1}, Neutral{"diversity_penalty", 0}}) {
    const json* value = fields.find(name);
    if (value == nullptr || (value->is_number() && value->get<double>() == neutral)) continue;
    notes.push_back(fmt::format("its generate() has {} {}, which is not done here", name,
                                describe_json(*value)));
  }
  for (const char* name : {"begin_suppress_tokens", "forced_decoder_ids", "sequence_bias",
                           "exponential_decay_length_penalty", "encoder_no_repeat_ngram_size"}) {
    const json* value = fields.find(name);
    if (value == nullptr || value->empty() || *value == 0) continue;
    notes.push_back(fmt::format("its generate() has {} {}, which is not done here", name,
                                describe_json(*value)));
  }
  if (fields.flag("do_sample", false)) {
    notes.push_back("its generate() draws texts; here `translate --sample` does");
  }
  return notes;
}

// As generate() takes them: from its own file where that has them.
MarianTokens parse_tokens(const ConfigFields& fields, const ConfigFields& generating,
                          const MarianVocabularies& rows) {
  const auto token = [&](const char* name, std::int64_t standard) {
    const json* const value = generating.find(name);
    const ConfigFields& own = value != nullptr && !value->is_array() ? generating : fields;
    return own.count(name, standard, 0, rows.target - 1);
  };
  const std::int64_t padding = token("pad_token_id", 58100);
  return {.padding = padding,
          .begin = token("decoder_start_token_id", padding),
          .end = token("eos_token_id", 0)};
}

}  // namespace

MarianConfig parse_marian_config(const ConfigText& config, const ConfigText& generation) {
  const json document = parse_json(config.text, config.file);
  if (!document.is_object()) throw_failure(config.file, "is not a JSON object");
  const ConfigFields fields(document, config.file);
  if (fields.text("model_type", "") != "marian") fields.refuse("model_type", "marian");
  refuse_other_classes(fields);
  refuse_other_layers(fields);
  MarianConfig result;
  constexpr std::int64_t kMostRows = 1 << 24;
  result.vocabularies.source = fields.count("vocab_size", 58101, 1, kMostRows);
  result.vocabularies.target =
      fields.count("decoder_vocab_size", result.vocabularies.source, 1, kMostRows);
  Settings& settings = result.settings;
  settings.task = TaskKind::translation;
  settings.model = parse_marian_model(fields);
  settings.translation = parse_translation(fields, settings.model.layers);
  if (settings.translation.tie_embeddings &&
      result.vocabularies.source != result.vocabularies.target) {
    fields.refuse("decoder_vocab_size", "\"vocab_size\", as the table is shared");
  }
  settings.attention.dropout = fields.probability("attention_dropout", 0);
  settings.position.scheme = "sinusoidal";
  settings.position.of<SinusoidalSettings>().layout = SinusoidalLayout::concat;
  settings.data.length = fields.count("max_position_embeddings", 1024, 1, 1 << 20);
  const json search =
      generation.text.empty() ? document : parse_json(generation.text, generation.file);
  if (!search.is_object()) throw_failure(generation.file, "is not a JSON object");
  const ConfigFields generating(search, generation.text.empty() ? config.file : generation.file);
  result.tokens = parse_tokens(fields, generating, result.vocabularies);
  settings.decoding = parse_decoding(generating);
  result.never = parse_never(generating);
  result.notes = parse_notes(generating);
  // A model without generation_config.json has the field of its configuration class.
  const std::int64_t forced = generation.text.empty() ? kStandardForcedEnd : -1;
  parse_forced_tokens(generating, result.tokens, result.vocabularies.target, forced,
                      settings.decoding, result.notes);
  return result;
}

nlohmann::ordered_json to_marian_config(const ExportedMarianConfig& config) {
  const Settings& settings = config.settings;
  const ModelSettings& model = settings.model;
  const TranslationSettings& translation = settings.translation;
  return {{"architectures", {"MarianMTModel"}},
          {"model_type", "marian"},
          {"vocab_size", config.vocabularies.source},
          {"decoder_vocab_size", config.vocabularies.target},
          {"d_model", model.width},
          {"encoder_layers", model.layers},
          {"decoder_layers",
           translation.decoder_layers > 0 ? translation.decoder_layers : model.layers},
          {"encoder_attention_heads", model.heads},
          {"decoder_attention_heads", model.heads},
          {"encoder_ffn_dim", model.feed_forward},
          {"decoder_ffn_dim", model.feed_forward},
          {"activation_function", activation_name(model.activation)},
          {"scale_embedding", model.embedding_scale == EmbeddingScale::sqrt_width},
          {"share_encoder_decoder_embeddings", translation.tie_embeddings},
          {"tie_word_embeddings", translation.tie_output},
          {"max_position_embeddings", config.positions},
          {"static_position_embeddings", true},
          {"normalize_before", false},
          {"normalize_embedding", false},
          {"dropout", model.dropout},
          {"attention_dropout", settings.attention.dropout},
          {"activation_dropout", translation.activation_dropout},
          {"init_std", model.initialization},
          {"pad_token_id", config.tokens.padding},
          {"eos_token_id", config.tokens.end},
          {"forced_eos_token_id", config.tokens.end},
          {"decoder_start_token_id", config.tokens.begin},
          {"is_encoder_decoder", true},
          {"torch_dtype", "float32"}};
}

nlohmann::ordered_json to_marian_generation(const ExportedMarianConfig& config) {
  const DecodingSettings& decoding = config.settings.decoding;
  nlohmann::ordered_json stopping = decoding.stopping == StoppingRule::full;
  if (decoding.stopping == StoppingRule::exact) stopping = "never";
  nlohmann::ordered_json never = nlohmann::ordered_json::array();
  for (const std::int64_t id : config.never) never.push_back(nlohmann::ordered_json::array({id}));
  const double longest =
      decoding.longest_factor * static_cast<double>(config.settings.data.length) +
      static_cast<double>(decoding.longest_extra);
  // Wu's penalty is none with alpha 0.
  const bool by_length = decoding.length_penalty == LengthPenalty::average || decoding.alpha == 0;
  nlohmann::ordered_json document = {
      {"num_beams", decoding.beam},
      {"length_penalty", by_length ? decoding.alpha : 1},
      {"early_stopping", stopping},
      {"renormalize_logits", decoding.renormalize},
      {"max_length", std::min<std::int64_t>(config.positions, std::llround(longest) + 1)},
      {"bad_words_ids", never},
      {"pad_token_id", config.tokens.padding},
      {"eos_token_id", config.tokens.end},
      {"forced_eos_token_id", config.tokens.end},
      {"decoder_start_token_id", config.tokens.begin}};
  if (decoding.repetition_penalty != 1) {
    document["repetition_penalty"] = decoding.repetition_penalty;
  }
  if (decoding.no_repeat_ngram > 0) document["no_repeat_ngram_size"] = decoding.no_repeat_ngram;
  if (decoding.first_token >= 0) document["forced_bos_token_id"] = decoding.first_token;
  return document;
}

}  // namespace roformer
