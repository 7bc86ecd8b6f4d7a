// The output of `roformer data prepare` and `data inspect` about prepared data sets: about text
// (Dataset) and about sentence pairs (ParallelDataset).
#pragma once

#include <cstdint>
#include <string>

#include "config/data_settings.h"
#include "data/dataset.h"
#include "data/parallel_dataset.h"

namespace roformer {

struct InspectionOptions {
  std::int64_t length = 128;  // of the rows that are shown
  std::int64_t examples = 3;
  std::uint64_t seed = 1;
  MaskingSettings masking;
};

// The origin of the data, the tokenizers and, for text, the sizes of the splits.
std::string describe(const Dataset& dataset);
std::string describe(const ParallelDataset& dataset);
// Histograms, in powers of two, of the tokens per document or per sentence of either language.
std::string describe_lengths(const Dataset& dataset);
std::string describe_lengths(const ParallelDataset& dataset);
// Rows of the training set with their masks, in colour if standard output is a terminal: [MASK]
// with the hidden token, random replacements, and tokens that are predicted but unchanged.
std::string examples_of(const Dataset& dataset, const InspectionOptions& options);
// Pairs of the training set as the tokenizer splits them, and pairs of the other sets as text.
std::string examples_of(const ParallelDataset& dataset, const InspectionOptions& options);

// A table of the pairs that were read, that each rule removed, and that were kept, with one column
// for each origin.
std::string describe_rules(const ParallelDescription& description);
// A table of sentences, tokens, longest sentence, pieces per word and unknown share, for both sides
// of each split.
std::string describe_splits(const ParallelDescription& description);

}  // namespace roformer
