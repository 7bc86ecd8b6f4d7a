#include "text/translation_tokenizers.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <vector>

#include "base/inner_path.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr const char* kSource = "source";
constexpr const char* kTarget = "target";

}  // namespace

void save_translation_tokenizers(const TranslationTokenizersView& tokenizers,
                                 const InnerPath& folder) {
  if (&tokenizers.source == &tokenizers.target) return save_tokenizer(tokenizers.target, folder);
  save_tokenizer(tokenizers.source, folder / kSource);
  save_tokenizer(tokenizers.target, folder / kTarget);
}

TranslationTokenizers load_translation_tokenizers(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder / kSource, error)) {
    TranslationTokenizers two{.source = load_tokenizer(folder / kSource),
                              .target = load_tokenizer(folder / kTarget)};
    two.joint = same_vocabulary(*two.source, *two.target);
    return two;
  }
  const std::shared_ptr<const Tokenizer> joint = load_tokenizer(folder);
  return {.source = joint, .target = joint, .joint = true};
}

bool is_tokenizer_entry(const fs::path& folder, const fs::path& name) {
  const std::vector<std::string> names = saved_tokenizer_names();
  if (std::ranges::find(names, name.string()) != names.end()) return true;
  if (name != kSource && name != kTarget) return false;
  return std::ranges::any_of(names, [&](const std::string& file) {
    std::error_code error;
    return fs::exists(folder / name / file, error);
  });
}

}  // namespace roformer
