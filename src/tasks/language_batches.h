// The rows of a data set as batches of a language model: masked, or with the next token as target,
// as the task says. What differs between the two ends here.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "config/settings.h"
#include "data/batches.h"
#include "tasks/arrangement.h"
#include "tasks/language_model.h"

namespace roformer {

// All batches are on the CPU, functions of their number, and made on any thread.
class LanguageBatches {
 public:
  virtual ~LanguageBatches() = default;

  virtual LanguageBatch training(std::int64_t number) const = 0;
  // As MaskedBatches::validation, each row in this arrangement.
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

// The data sets must outlive the batches. Validation is of the first. Throws as MaskedBatches does.
std::unique_ptr<LanguageBatches> make_language_batches(const Settings& settings,
                                                       const std::vector<WeightedDataset>& sources,
                                                       const LanguageRows& rows);

}  // namespace roformer
