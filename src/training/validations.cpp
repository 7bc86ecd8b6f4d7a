#include "training/validations.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "config/task_facts.h"

namespace roformer {

Validations::Validations(Parts parts) : parts_(std::move(parts)) {
  if (parts_.average != nullptr && parts_.settings.weights == WeightsKind::ema) {
    parts_.ranking.figure = std::string(kAveraged) + parts_.ranking.figure;
  }
}

Figures Validations::figures() {
  Figures figures = parts_.task.validate(parts_.processes);
  if (parts_.average == nullptr) return figures;
  parts_.make_room();
  log::info("the same of the weights' moving average:");
  const WeightAverage::Loan loan(*parts_.average);
  for (const auto& [name, value] : parts_.task.validate(parts_.processes)) {
    figures[std::string(kAveraged) + name] = value;
  }
  return figures;
}

Validations::Outcome Validations::make(TrainingState& state) {
  const ValidationRecord record{.step = state.consumed.steps,
                                .minutes = state.consumed.minutes,
                                .figures = figures(),
                                .ranking = parts_.ranking};
  ROFORMER_ASSERT(record.figures.contains(record.ranking.figure));
  const auto better = std::ranges::count_if(
      state.validations, [&](const ValidationRecord& other) { return !is_better(record, other); });
  const Outcome outcome{.is_best = record.counts() && better == 0,
                        .is_kept = record.counts() && better < parts_.settings.keep_best};
  state.without_improvement = outcome.is_best ? 0 : state.without_improvement + 1;
  state.validations.push_back(record);
  state.validation_due = false;
  return outcome;
}

}  // namespace roformer
