// What `roformer data prepare` and `data inspect` print about prepared data sets: of text (Dataset)
// and of sentence pairs (ParallelDataset).
#pragma once

#include <cstdint>
#include <string>

#include "config/data_settings.h"
#include "data/dataset.h"
#include "data/parallel_dataset.h"

namespace roformer {

struct InspectionOptions {
  std::int64_t length = 128;  // of the rows shown
  std::int64_t examples = 3;
  std::uint64_t seed = 1;
  MaskingSettings masking;
};

// Where the data come from, the tokenizers and, of text, the size of the splits.
std::string describe(const Dataset& dataset);
std::string describe(const ParallelDataset& dataset);
// Histograms of the tokens in a document, or in the sentences of both languages, in powers of two.
std::string describe_lengths(const Dataset& dataset);
std::string describe_lengths(const ParallelDataset& dataset);
// Rows of the training set with their masks; in colour when standard output is a terminal:
// [MASK] with the hidden token, random replacements, and tokens that are asked for but stayed.
std::string examples_of(const Dataset& dataset, const InspectionOptions& options);
// Pairs of the training set as the tokenizer splits them, and of the other sets as text.
std::string examples_of(const ParallelDataset& dataset, const InspectionOptions& options);

// A table: what was read, what each rule removed, what was kept; a column for each origin.
std::string describe_rules(const ParallelDescription& description);
// A table: sentences, tokens, longest, pieces a word and unknown share of both sides of each split.
std::string describe_splits(const ParallelDescription& description);

}  // namespace roformer
