// config.json and generation_config.json of a MarianMT folder: a post-norm encoder-decoder with
// sinusoids, sines first, then cosines. Field names and defaults: transformers'
// configuration_marian.py and its generation's.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "interop/marian_names.h"

namespace roformer {

// Of torch's LayerNorm; the configuration has no key for it.
inline constexpr double kMarianNormEpsilon = 1e-5;

struct MarianTokens {
  std::int64_t padding = -1;
  std::int64_t begin = -1;  // what the decoder starts from
  std::int64_t end = -1;
};

struct MarianConfig {
  // model.*, translation.*, position.*, attention.dropout, decoding.* as generate() searches with
  // them, data.length. Whether there is an output bias, the weights say.
  Settings settings;
  MarianVocabularies vocabularies;
  MarianTokens tokens;
  std::vector<std::int64_t> never;  // ids that generate() never chooses
  std::vector<std::string> notes;   // what generate() is told and this program does not do
};

struct ConfigText {
  std::string_view text;
  std::string file;  // named in errors
};

// `generation`: empty where there is no such file; its fields are then those of config.json, where
// older releases kept them. Throws Error (failure) for what is no such file, for a value out of
// range, and for an architecture that this program does not have.
MarianConfig parse_marian_config(const ConfigText& config, const ConfigText& generation);

// What an export says. `settings.model.vocabulary` is not read.
struct ExportedMarianConfig {
  const Settings& settings;
  MarianVocabularies vocabularies;
  MarianTokens tokens;
  std::vector<std::int64_t> never;
  std::int64_t positions = 0;  // rows of the table of sinusoids
};
nlohmann::ordered_json to_marian_config(const ExportedMarianConfig& config);
nlohmann::ordered_json to_marian_generation(const ExportedMarianConfig& config);

}  // namespace roformer
