// What the tokenizer of a causal language model's folder puts before a text: as transformers reads
// it from tokenizer.json's template, or from tokenizer_config.json where that says otherwise, and
// as an export says it there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "config/decoding_settings.h"
#include "text/tokenizer.h"

namespace roformer {

// The token that begins a prompt; -1: none, or the vocabulary has none.
TokenId prompt_token(const Tokenizer& tokenizer, PromptStart start);

// Appends to `notes` what cannot be said. Throws Error (failure) for a tokenizer_config.json that
// is no JSON object.
PromptStart prompt_start_of(const std::filesystem::path& folder, const Tokenizer& tokenizer,
                            std::vector<std::string>& notes);

// tokenizer_config.json beside a byte-level tokenizer's tokenizer.json or SentencePiece's
// tokenizer.model. `longest`: tokens that the model was built for.
nlohmann::ordered_json prompt_config(const Tokenizer& tokenizer, PromptStart start,
                                     std::int64_t longest);

}  // namespace roformer
