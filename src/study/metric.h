// How a figure of a run is shown: title, unit, digits, and which end of it is the better one.
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"
#include "report/table.h"

namespace roformer {

// "validation_loss" -> column "validation loss", three digits, the lowest in bold. A name that is
// not known here is shown with its underscores as blanks; the greatest of it is the best.
Column metric_column(const std::string& name);

// The metrics that a table shows for a task when the study names none, beside its own metric.
std::vector<std::string> standard_metrics(TaskKind task);

}  // namespace roformer
