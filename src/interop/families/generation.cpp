#include "interop/families/generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/json.h"

namespace roformer {
namespace {

using nlohmann::json;
using Json = ConfigField::Json;

constexpr std::int64_t kStandardLength = 20;  // generate()'s default

StoppingRule read_stopping(const JsonFields& fields) {
  const json* value = fields.find("early_stopping");
  if (value != nullptr && value->is_string()) {
    if (value->get_ref<const std::string&>() == "never") return StoppingRule::exact;
    fields.refuse("early_stopping", "true, false or \"never\"");
  }
  return fields.flag("early_stopping", false) ? StoppingRule::full : StoppingRule::estimate;
}

DecodingSettings read_decoding(const JsonFields& fields) {
  constexpr double kMost = 1 << 20;
  const std::int64_t longest = fields.count("max_length", kStandardLength, between(2, kMost));
  return {.beam = fields.count("num_beams", 1, between(1, 1000)),
          .length_penalty = LengthPenalty::average,
          .alpha = fields.number("length_penalty", 1, between(0, 10)),
          .stopping = read_stopping(fields),
          .renormalize = fields.flag("renormalize_logits", false),
          .repetition_penalty = fields.number("repetition_penalty", 1, between(0.01, 100)),
          .no_repeat_ngram = fields.count("no_repeat_ngram_size", 0, between(0, kMost)),
          .longest_factor = 0,
          .longest_extra = fields.count("max_new_tokens", longest - 1, between(1, kMost))};
}

// generate() forces the first and the last token of a text, whatever the model predicts.
// `standard`: the forced last token if the file does not say.
void read_forced_tokens(const JsonFields& fields, std::int64_t standard, FolderConfig& config) {
  DecodingSettings& decoding = config.settings.decoding;
  decoding.first_token = fields.count("forced_bos_token_id", -1,
                                      between(0, static_cast<double>(config.rows.target - 1)));
  const json* const end = fields.find("forced_eos_token_id");
  const bool listed = end != nullptr && end->is_array() && end->size() == 1;
  const json id = listed ? end->front() : end != nullptr ? *end : json(standard);
  decoding.free_end = id == config.tokens.end;
  if (decoding.free_end) return;
  config.notes.push_back(
      id == -1 ? "its generate() breaks a text off at max_length tokens; here it gets its end there"
               : fmt::format("its generate() has forced_eos_token_id {}, which is not the end, {}; "
                             "here a text of the longest length gets its end",
                             describe_json(id), config.tokens.end));
}

// The single ids in bad_words_ids ([[7], [8, 9]]) and suppress_tokens ([7]).
std::vector<std::int64_t> read_never(const JsonFields& fields) {
  std::vector<std::int64_t> never;
  for (const char* name : {"bad_words_ids", "suppress_tokens"}) {
    if (fields.find(name) == nullptr) continue;
    for (const json& entry : fields.list(name)) {
      const bool nested = entry.is_array() && entry.size() == 1;
      const json& id = nested ? entry[0] : entry;
      if (id.is_number_integer()) never.push_back(id.get<std::int64_t>());
    }
  }
  return never;
}

std::vector<std::string> note_generation(const JsonFields& fields) {
  std::vector<std::string> notes;
  const auto note = [&](const char* name) {
    notes.push_back(fmt::format("its generate() has {} {}, which is not done here", name,
                                describe_json(*fields.find(name))));
  };
  for (const auto& [name, neutral] : {std::pair("min_length", 0), std::pair("num_beam_groups", 1),
                                      std::pair("diversity_penalty", 0)}) {
    const json* value = fields.find(name);
    if (value != nullptr && !(value->is_number() && value->get<double>() == neutral)) note(name);
  }
  for (const char* name : {"begin_suppress_tokens", "forced_decoder_ids", "sequence_bias",
                           "exponential_decay_length_penalty", "encoder_no_repeat_ngram_size"}) {
    const json* value = fields.find(name);
    if (value != nullptr && !value->empty() && *value != 0) note(name);
  }
  if (fields.flag("do_sample", false)) {
    notes.push_back("its generate() draws texts; here `translate --sample` does");
  }
  return notes;
}

// Reads the tokens as generate() does: generation_config.json takes precedence.
TranslatorTokens read_tokens(const JsonFields& fields, const JsonFields& generation,
                             const GenerationDefaults& defaults, std::int64_t rows) {
  const auto token = [&](const char* name, std::int64_t standard) {
    const json* const value = generation.find(name);
    const JsonFields& own = value != nullptr && !value->is_array() ? generation : fields;
    return own.count(name, standard, between(0, static_cast<double>(rows - 1)));
  };
  const std::int64_t padding = token("pad_token_id", defaults.padding);
  return {.padding = padding,
          .begin = token("decoder_start_token_id", padding),
          .end = token("eos_token_id", defaults.end),
          .never = read_never(generation)};
}

}  // namespace

void read_generation(const JsonFields& fields, const JsonFields& generation,
                     const GenerationDefaults& defaults, FolderConfig& config) {
  config.tokens = read_tokens(fields, generation, defaults, config.rows.target);
  config.settings.decoding = read_decoding(generation);
  config.notes = note_generation(generation);
  read_forced_tokens(generation, defaults.forced_end, config);
}

Json write_generation(const ExportedConfig& config) {
  const DecodingSettings& decoding = config.settings.decoding;
  Json stopping = decoding.stopping == StoppingRule::full;
  if (decoding.stopping == StoppingRule::exact) stopping = "never";
  Json never = Json::array();
  for (const std::int64_t id : config.tokens.never) never.push_back(Json::array({id}));
  const double longest =
      decoding.longest_factor * static_cast<double>(config.settings.data.length) +
      static_cast<double>(decoding.longest_extra);
  // Wu's penalty with alpha 0 has no effect.
  const bool by_length = decoding.length_penalty == LengthPenalty::average || decoding.alpha == 0;
  Json document = {
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
