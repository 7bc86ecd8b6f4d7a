// What `roformer data inspect` prints about a prepared data set.
#pragma once

#include <cstdint>
#include <string>

#include "config/data_settings.h"
#include "data/dataset.h"

namespace roformer {

struct InspectionOptions {
  std::int64_t length = 128;  // of the rows shown
  std::int64_t examples = 3;
  std::uint64_t seed = 1;
  MaskingSettings masking;
};

// Where it comes from, and the size of its splits.
std::string describe_dataset(const Dataset& dataset);
// Histogram of the tokens in a document, in powers of two.
std::string describe_lengths(const Dataset& dataset);
// Rows of the training set with their masks; in colour when standard output is a terminal:
// [MASK] with the hidden token, random replacements, and tokens that are asked for but stayed.
std::string masked_examples(const Dataset& dataset, const InspectionOptions& options);

}  // namespace roformer
