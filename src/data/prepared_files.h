// The names of the files of a prepared data set, so that one is replaced together with nothing
// else.
#pragma once

#include <filesystem>

namespace roformer {

// Whether all that is in the folder is named as what `data prepare` writes: shards, lines of
// sentence pairs, the description, the journal of a preparation, tokenizers.
bool holds_only_prepared_files(const std::filesystem::path& folder);

}  // namespace roformer
