// How a figure of a run is shown: title, unit, digits, and which end of it is the better one.
#pragma once

#include <string>

#include "report/table.h"

namespace roformer {

// "validation_loss" -> column "validation loss", three digits, the lowest in bold. The median of a
// figure and the same figure of MNLI's second set are shown as the figure is. A name that is not
// known here is shown with its underscores as blanks; the lowest of a loss is the best, else the
// greatest.
Column metric_column(const std::string& name);

}  // namespace roformer
