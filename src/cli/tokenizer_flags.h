// The arguments of the commands that open a tokenizer.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

#include "text/tokenizer.h"

namespace roformer {

struct TokenizerFlags {
  TokenizerSettings settings;
  std::filesystem::path wordpiece;
  bool bytes = false;
  // The files of a published translation system (text/subword_tokenizer.h).
  std::filesystem::path bpe_codes;
  std::filesystem::path bpe_vocabulary;
  std::int64_t bpe_threshold = 0;
};

// If `positional`, the user may also name the tokenizer without its flag.
void add_tokenizer_flags(CLI::App& command, TokenizerFlags& flags, bool positional = false);

bool is_tokenizer_named(const TokenizerFlags& flags);

// Whether --cased applies to this kind of tokenizer.
bool may_keep_case(const Tokenizer& tokenizer);

// Throws Error (usage) if no tokenizer is named or --cased does not fit it, and otherwise as
// open_tokenizer does.
std::unique_ptr<Tokenizer> open_tokenizer_of(TokenizerFlags flags);

}  // namespace roformer
