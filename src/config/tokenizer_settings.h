// Section `tokenizer` of the configuration.
#pragma once

#include <filesystem>

namespace roformer {

enum class TokenizerKind {
  automatic,
  sentencepiece,
  wordpiece,
  characters,
  bytes,
  subwords,
  marian
};

struct TokenizerSettings {
  TokenizerKind kind = TokenizerKind::automatic;  // automatic: from the file
  std::filesystem::path file;                     // empty: the prepared data's own
  bool cased = false;                             // wordpiece only
};

}  // namespace roformer
