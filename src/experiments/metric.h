// How to show a figure of a run: title, unit, digits, and whether a low or a high value is better.
#pragma once

#include <string>

#include "report/table.h"

namespace roformer {

// "validation_loss" -> column "validation loss", three digits, the lowest in bold. The median of a
// figure and the same figure of MNLI's second set look like the figure. An unknown name is shown
// with spaces for underscores; the lowest is best for a loss, else the highest.
Column metric_column(const std::string& name);

}  // namespace roformer
