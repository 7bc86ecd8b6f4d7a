// The two tokenizers of a translator as runs and data sets store them: a joint vocabulary's
// tokenizer in the folder itself, two different ones in its folders source/ and target/.
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
                                 const InnerPath& folder);

struct TranslationTokenizers {
  std::shared_ptr<const Tokenizer> source, target;
  bool joint = true;  // the same pieces have the same ids
};
// Throws Error (failure) as load_tokenizer does.
TranslationTokenizers load_translation_tokenizers(const std::filesystem::path& folder);

// Whether save_tokenizer or save_translation_tokenizers wrote the entry of that name in a folder.
bool is_tokenizer_entry(const std::filesystem::path& folder, const std::filesystem::path& name);

}  // namespace roformer
