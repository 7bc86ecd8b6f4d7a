// `roformer evaluate` for language models: the loss on prepared text, at the requested lengths and
// in the requested arrangement, compared with another model on the same targets.
#pragma once

#include <functional>

#include "tasks/evaluation.h"
#include "tasks/language/evaluation_report.h"

namespace roformer {

// Called with the report so far whenever a row is added. The report has no figures of the other
// model yet. `expected` has as many rows as the report will have, all like the first.
using OnRow = std::function<void(const EvaluationReport& so_far, const EvaluationReport& expected)>;

// Shows its progress on standard error. A signal (training/signals.h) ends it; the report then
// holds the finished rows and the signal. It opens and checks everything before it computes
// anything. Throws Error (usage) for lengths, splits and options that the model or the data do not
// allow, and names their flags.
EvaluationReport evaluate_language_run(TrainedModel model, const EvaluationRequest& asked,
                                       const OnRow& on_row = {});

EvaluationResult evaluate_language(OpenedRun run, const EvaluationRequest& request);

}  // namespace roformer
