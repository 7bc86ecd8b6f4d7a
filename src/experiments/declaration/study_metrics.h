// The names of the figures that a finished run has, for `study.metric`, `study.columns` and the
// metrics of a paper's values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"

namespace roformer {

// The figures of a run with these settings: counts and times, the figures of its validations under
// their names in studies ("validation_loss", "masked_accuracy" in mlm), and those of its task. Each
// name is a metric, and so is the name with "_median" added.
std::vector<std::string> run_figures(const Settings& settings);

// The name in studies for the loss of the test set at a length (`evaluate: {split: test}`):
// "test_loss" at the training's own length, else "test_loss_at_length_128".
std::string test_loss_at(std::int64_t length, const Settings& settings);

// The names in studies for the scores of the translated test set (`evaluate: {split: test}`): BLEU,
// chrF, and into English and German BLEU of split compounds.
std::vector<std::string> translation_scores();

// "score" for "score_median", the median of a row's runs. Empty for another name.
std::optional<std::string> median_of(const std::string& name);
// "accuracy" for "accuracy_mismatched", on MNLI's second validation set. Empty for another name.
std::optional<std::string> mismatched_of(const std::string& name);

}  // namespace roformer
