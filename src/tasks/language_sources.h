// What a language model is trained on: the prepared sets of a mixture and the stages of a
// curriculum.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "config/settings.h"
#include "data/dataset.h"
#include "tasks/language_batches.h"

namespace roformer {

struct LanguageSource {
  std::shared_ptr<const Dataset> dataset;
  double weight = 1;
};

// The data of a stage and how they are dealt with there.
struct LanguageStage {
  std::vector<LanguageSource> sources;
  std::int64_t length = 0;
  std::int64_t rows = 0;
  std::uint64_t seed = 0;
};

// data.sources, or the main set alone. Throws Error (usage) for a set with another tokenizer.
std::vector<LanguageSource> language_sources(const Settings& settings,
                                             const std::shared_ptr<const Dataset>& main);
std::vector<WeightedDataset> weighted_datasets(const std::vector<LanguageSource>& sources);

// At least one: a training without stages is one. A stage has a seed of its own, so that a later
// one of the same length does not repeat the rows and masks of an earlier one.
std::vector<LanguageStage> language_stages(const Settings& settings,
                                           const std::shared_ptr<const Dataset>& dataset,
                                           const std::vector<LanguageSource>& sources);

// Logs what a mixture comes to, before it is trained on.
void say_shares(const Settings& settings, const std::vector<LanguageSource>& sources);

}  // namespace roformer
