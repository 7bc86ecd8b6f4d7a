// Sections `tokenizer` and `data` of the configuration.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "config/data_lists.h"

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
  TokenizerKind kind = TokenizerKind::automatic;  // automatic: decided by the file
  std::filesystem::path file;                     // empty: the tokenizer of the prepared data
  bool cased = false;                             // wordpiece and words only
  // A dictionary of Chinese words in jieba's format; `file` must then be a WordPiece vocabulary.
  std::filesystem::path dictionary;
  bool characters = false;  // the dictionary only serves whole-word masking
};

struct MaskingSettings {
  double probability = 0.15;  // of choosing a token
  double mask = 0.8;          // share of the chosen tokens that becomes [MASK]
  double random = 0.1;        // share that becomes a random token; the rest stays
  bool whole_words = false;
};

struct DataSettings {
  std::filesystem::path directory;  // prepared shards (mlm, causal_lm) or a GLUE folder (glue)
  // Files of labelled examples (classification, tagging, embedding).
  std::filesystem::path train;
  std::filesystem::path validation;  // empty: data.validation_fraction of the training file
  bool header = true;                // the first line of a CSV or TSV file names its columns
  std::vector<DataSource> sources;   // data sets to train on instead; empty: only `directory`
  std::int64_t length = 128;         // tokens in a row
  bool cross_documents = true;       // attention crosses the separators inside a row
  double validation_fraction = 0;    // share for validation; 0: any that the data set has, or 0.1
  std::int64_t validation_tokens = 200'000;  // at most this many tokens per validation
  std::int64_t loader_threads = 1;
  std::int64_t prefetch = 4;  // batches prepared in advance
  MaskingSettings masking;
};

}  // namespace roformer
