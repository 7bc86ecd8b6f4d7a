// What stands before and behind a text of a causal language model's folder. Before it: what
// transformers reads from tokenizer.json's template, or from tokenizer_config.json where that says
// otherwise. Behind it: eos_token_id. An export says both there.
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

// What the folder says of the tokens that end a text, DecodingSettings::end_tokens:
// generation_config.json before config.json, as `generate` of transformers does. Empty where that
// is the vocabulary's separator, or where they say nothing. Throws Error (failure) for what is
// neither an id nor a list of ids.
std::vector<std::int64_t> end_tokens_of(const std::filesystem::path& folder,
                                        const Tokenizer& tokenizer);

// tokenizer_config.json beside a byte-level tokenizer's tokenizer.json or SentencePiece's
// tokenizer.model. `longest`: tokens that the model was built for.
nlohmann::ordered_json prompt_config(const Tokenizer& tokenizer, const DecodingSettings& decoding,
                                     std::int64_t longest);

}  // namespace roformer
