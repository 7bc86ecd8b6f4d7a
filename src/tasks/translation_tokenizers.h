// The two tokenizers of a translator as a run stores them: one for a joint vocabulary, in the
// folder itself, else one in each of its folders source/ and target/.
#pragma once

#include <filesystem>
#include <memory>

#include "text/tokenizer.h"

namespace roformer {

struct TranslationTokenizersView {
  const Tokenizer& source;
  const Tokenizer& target;  // the same object for a joint vocabulary
};
void save_translation_tokenizers(const TranslationTokenizersView& tokenizers,
                                 const std::filesystem::path& folder);

struct TranslationTokenizers {
  std::shared_ptr<const Tokenizer> source, target;
  bool joint = true;  // the same pieces have the same ids
};
// Throws Error (failure) as load_tokenizer.
TranslationTokenizers load_translation_tokenizers(const std::filesystem::path& folder);

}  // namespace roformer
