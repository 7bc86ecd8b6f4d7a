#include "tasks/translation_tokenizers.h"

#include <system_error>

namespace roformer {
namespace fs = std::filesystem;

void save_translation_tokenizers(const TranslationTokenizersView& tokenizers,
                                 const fs::path& folder) {
  if (&tokenizers.source == &tokenizers.target) return save_tokenizer(tokenizers.target, folder);
  save_tokenizer(tokenizers.source, folder / "source");
  save_tokenizer(tokenizers.target, folder / "target");
}

TranslationTokenizers load_translation_tokenizers(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder / "source", error)) {
    TranslationTokenizers two{.source = load_tokenizer(folder / "source"),
                              .target = load_tokenizer(folder / "target")};
    two.joint = same_vocabulary(*two.source, *two.target);
    return two;
  }
  const std::shared_ptr<const Tokenizer> joint = load_tokenizer(folder);
  return {.source = joint, .target = joint, .joint = true};
}

}  // namespace roformer
