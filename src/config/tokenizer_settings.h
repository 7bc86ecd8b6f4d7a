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

}  // namespace roformer
