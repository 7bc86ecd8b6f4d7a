// What `roformer data prepare` and `data inspect` print about a prepared parallel corpus.
#pragma once

#include <cstdint>
#include <string>

#include "data/parallel_dataset.h"

namespace roformer {

// Where it comes from, and its tokenizers.
std::string describe_parallel(const ParallelDataset& dataset);
// A table: what was read, what each rule removed, what was kept; a column for each origin.
std::string describe_rules(const ParallelDescription& description);
// A table: sentences, tokens, longest, pieces a word and unknown share of both sides of each split.
std::string describe_splits(const ParallelDescription& description);
// Histograms of the tokens in a sentence of both sides.
std::string describe_pair_lengths(const ParallelDataset& dataset);
// Pairs of the training set as the tokenizer splits them, and of the test set as text.
std::string pair_examples(const ParallelDataset& dataset, std::int64_t count, std::uint64_t seed);

}  // namespace roformer
