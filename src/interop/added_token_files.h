// The added tokens of a Hugging Face folder with a WordPiece: those of tokenizer.json, of
// "added_tokens_decoder" and "additional_special_tokens" in tokenizer_config.json, and of
// added_tokens.json, which older releases wrote.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "text/added_tokens.h"

namespace roformer {

// By id, without BERT's own special tokens where they have no options. `pieces`: those of the
// vocabulary. Throws Error (failure) for what is no token.
std::vector<AddedToken> read_added_tokens(const std::filesystem::path& folder,
                                          const std::vector<std::string>& pieces);

}  // namespace roformer
