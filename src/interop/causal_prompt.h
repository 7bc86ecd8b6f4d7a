// What the tokenizer of a causal language model's folder puts before a text: as transformers reads
// it from tokenizer.json's template, or from tokenizer_config.json where that says otherwise.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/decoding_settings.h"
#include "text/tokenizer.h"

namespace roformer {

// Appends to `notes` what cannot be said. Throws Error (failure) for a tokenizer_config.json that
// is no JSON object.
PromptStart prompt_start_of(const std::filesystem::path& folder, const Tokenizer& tokenizer,
                            std::vector<std::string>& notes);

}  // namespace roformer
