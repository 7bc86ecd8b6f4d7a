// All that decides what is in the shards of a data set: where it is the same, what a killed process
// finished can be gone on with.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "data/prepare.h"
#include "data/prepare_pairs.h"
#include "text/tokenizer.h"

namespace roformer {

// Each with the words for it: the program's build, the tokenizer, the options, the files with their
// sizes and times. Empty where the corpus can be read only once.
using PreparationIdentity = std::vector<std::pair<std::string, std::string>>;

// `files` are all that is read.
PreparationIdentity identity_of(const PrepareOptions& options, const Tokenizer& tokenizer,
                                const std::vector<std::filesystem::path>& files);
PreparationIdentity identity_of(const PreparePairsOptions& options, const Tokenizer& source,
                                const Tokenizer& target);

}  // namespace roformer
