// The rows of a data set as batches of a language model. The task decides whether tokens are masked
// or the next token is the target.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "config/settings.h"
#include "data/batches.h"
#include "data/dataset.h"
#include "tasks/language/arrangement.h"
#include "tasks/language/language_model.h"

namespace roformer {

// Batches for a language model. Each batch is a function of its number. Batches are on the CPU and
// any thread may make them.
class LanguageBatches {
 public:
  virtual ~LanguageBatches() = default;

  virtual LanguageBatch training(std::int64_t number) const = 0;
  // The same batch as MaskedBatches::validation, with each row in this arrangement.
  virtual LanguageBatch validation(std::int64_t number, std::int64_t token_limit,
                                   const Arrangement& arrangement) const = 0;
  virtual std::int64_t validation_batches(std::int64_t token_limit) const = 0;
  virtual double batches_per_epoch() const = 0;
};

struct LanguageRows {
  Split split = Split::train;
  std::int64_t length = 0;  // of a row
  BatchOptions batches = {};
};

// The data sets must outlive the batches. Validation reads the first data set. Throws as
// MaskedBatches does.
std::unique_ptr<LanguageBatches> make_language_batches(const Settings& settings,
                                                       const std::vector<WeightedDataset>& sources,
                                                       const LanguageRows& rows);

struct LanguageSource {
  std::shared_ptr<const Dataset> dataset;
  double weight = 1;
};

// The data of a stage, and its rows and batches.
struct LanguageStage {
  std::vector<LanguageSource> sources;
  std::int64_t length = 0;
  std::int64_t rows = 0;
  std::uint64_t seed = 0;
};

// The sets of data.sources, or the main set alone. Throws Error (usage) for a set with another
// tokenizer.
std::vector<LanguageSource> language_sources(const Settings& settings,
                                             const std::shared_ptr<const Dataset>& main);
std::vector<WeightedDataset> weighted_datasets(const std::vector<LanguageSource>& sources);

// The stages, at least one: a training without stages is a single stage. Each stage has its own
// seed, so that a later stage of the same length does not repeat the rows and masks of an earlier
// one.
std::vector<LanguageStage> language_stages(const Settings& settings,
                                           const std::shared_ptr<const Dataset>& dataset,
                                           const std::vector<LanguageSource>& sources);

// Logs the shares of a mixture before the training.
void say_shares(const Settings& settings, const std::vector<LanguageSource>& sources);

}  // namespace roformer
