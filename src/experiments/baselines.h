// The figures of a model that has learned only frequencies, for comparison with those of a study's
// models.
#pragma once

#include <optional>
#include <string>

#include "config/settings.h"
#include "data/dataset.h"

namespace roformer {

inline constexpr const char* kCommonestClass = "always the commonest class";

// The score of always answering the training set's most common class, by the task's own metric
// (study metric "score") on the validation set. Empty for a task without classes, and if the data
// cannot be read. MRPC's F1 is 81.2.
std::optional<double> commonest_class_score(const Settings& settings);

// The cross entropy of the training text's token frequencies on the validation text, in nats a
// token, with counts smoothed by one. A language model at this loss has not learned from the
// context yet. `with_special` includes special tokens, which only causal models predict.
double unigram_loss(const Dataset& dataset, bool with_special);

// The same for the data of a run with these settings, in the unit of the metric (validation_loss,
// bits_per_character or bits_per_byte). Empty if the data cannot be read.
std::optional<double> unigram_loss(const Settings& settings, const std::string& metric);

}  // namespace roformer
