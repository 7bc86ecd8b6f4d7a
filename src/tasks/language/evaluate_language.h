// `roformer evaluate` for language models: the loss on prepared text, at the lengths and in the
// arrangement that are asked for, compared with another model on the same targets.
#pragma once

#include <functional>

#include "tasks/evaluation.h"
#include "tasks/language/evaluation_report.h"

namespace roformer {

// Called with the report so far whenever a row is added; it has nothing of the other model yet.
// `expected` has as many rows as there will be, all like the first.
using OnRow = std::function<void(const EvaluationReport& so_far, const EvaluationReport& expected)>;

// Shows its progress on standard error. A signal (training/signals.h) ends it with the rows that
// are finished; the report then has the signal. Everything is opened and checked before anything is
// computed. Throws Error (usage) for lengths, splits and options that the model or the data cannot
// have, by the names of their flags.
EvaluationReport evaluate_language_run(TrainedModel model, const EvaluationRequest& asked,
                                       const OnRow& on_row = {});

EvaluationResult evaluate_language(OpenedRun run, const EvaluationRequest& request);

}  // namespace roformer
