#include "data/prepared_files.h"

#include <algorithm>
#include <string>

#include "data/dataset.h"
#include "data/preparation_journal.h"
#include "text/translation_tokenizers.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

bool is_of_split(const std::string& name) {
  const auto ends = [&](const char* ending) { return name.ends_with(ending); };
  return (ends(".bin") || ends(".source.txt") || ends(".target.txt")) &&
         std::ranges::any_of(kSplits,
                             [&](Split split) { return name.starts_with(to_string(split)); });
}

}  // namespace

bool holds_only_prepared_files(const fs::path& folder) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    if (name == "dataset.json" || name == kPreparationJournal || is_of_split(name)) continue;
    if (!is_tokenizer_entry(folder, name)) return false;
  }
  return !error;
}

}  // namespace roformer
