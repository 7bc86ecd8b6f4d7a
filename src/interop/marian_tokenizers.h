// The two tokenizers of a MarianMT folder: source.spm and target.spm, whose pieces have the ids of
// vocab.json (and target_vocab.json, where the sides have vocabularies of their own).
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "interop/marian_config.h"
#include "text/tokenizer.h"

namespace roformer {

struct MarianTokenizers {
  std::shared_ptr<const Tokenizer> source, target;
};

// Throws Error (failure) for a file that is missing or does not fit.
MarianTokenizers read_marian_tokenizers(const std::filesystem::path& folder,
                                        const MarianTokens& tokens);

// The same object on both sides where there is one tokenizer. `separate`: the sides have tables of
// their own. Appends to `notes` what a user should know.
struct MarianTokenizersView {
  const Tokenizer& source;
  const Tokenizer& target;
  bool separate = false;
};
void write_marian_tokenizers(const MarianTokenizersView& tokenizers, std::int64_t longest,
                             const std::filesystem::path& folder, std::vector<std::string>& notes);

}  // namespace roformer
