// Sections `tokenizer` and `data` of the configuration, and the list `stages`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace roformer {

enum class TokenizerKind {
  automatic,
  sentencepiece,
  wordpiece,
  characters,
  bytes,
  subwords,
  marian,
  words,
  ids,
  byte_level
};

struct TokenizerSettings {
  TokenizerKind kind = TokenizerKind::automatic;  // automatic: from the file
  std::filesystem::path file;                     // empty: the prepared data's own
  bool cased = false;                             // wordpiece and words only
  // Of Chinese words, in jieba's format; with it `file` is a WordPiece vocabulary.
  std::filesystem::path dictionary;
  bool characters = false;  // the dictionary serves whole-word masking only
};

// A prepared data set, an entry of `data.sources`. Rows are drawn in the proportion of the weights.
struct DataSource {
  std::filesystem::path directory;
  double weight = 1;

  bool operator==(const DataSource&) const = default;
};

struct MaskingSettings {
  double probability = 0.15;  // of all tokens
  double mask = 0.8;          // share of the chosen that becomes [MASK]
  double random = 0.1;        // share that becomes a random token; the rest stays
  bool whole_words = false;
};

struct DataSettings {
  std::filesystem::path directory;  // prepared shards (mlm, causal_lm) or a GLUE folder (glue)
  std::vector<DataSource> sources;  // trained on instead; empty: directory alone
  std::int64_t length = 128;        // tokens in a row
  bool cross_documents = true;      // attention crosses the separators inside a filled row
  double validation_fraction = 0;   // that the data set must have; 0: any
  std::int64_t validation_tokens = 200'000;  // at most this many per check
  std::int64_t loader_threads = 1;
  std::int64_t prefetch = 4;  // batches made ahead
  MaskingSettings masking;
};

// An entry of the list `stages`: what a part of the training does differently from the settings.
struct StageSettings {
  std::int64_t steps = 0;
  std::optional<std::int64_t> length;        // of a row, instead of data.length
  std::optional<std::int64_t> batch;         // instead of training.batch
  std::optional<std::int64_t> accumulation;  // instead of training.accumulation
  std::optional<double> learning_rate;       // instead of training.learning_rate
  std::int64_t warmup = 0;                   // steps in which the stage's rate rises from 0
  std::filesystem::path directory;           // another data set of the same tokenizer; or empty

  bool operator==(const StageSettings&) const = default;
};

// The lists as text, `[{directory: prepared/wiki, weight: 3}]` and `[{steps: 200k, length: 512}]`.
// A text that is none throws InvalidValue with what is wrong in which entry. Relative folders are
// taken from `folder`.
std::vector<DataSource> parse_sources(std::string_view text, const std::filesystem::path& folder);
std::string print_sources(const std::vector<DataSource>& sources);
std::vector<StageSettings> parse_stages(std::string_view text, const std::filesystem::path& folder);
std::string print_stages(const std::vector<StageSettings>& stages);

std::int64_t total_steps(const std::vector<StageSettings>& stages);

}  // namespace roformer
