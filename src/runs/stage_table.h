// What each stage of a training came to, as RoFormer's table 4 has it: loss and accuracy of the
// validation at its end, at the stage's own length and at data.length.
#pragma once

#include "config/settings.h"
#include "report/table.h"
#include "training/training_summary.h"

namespace roformer {

// A row a stage that has been validated at its end; no rows for a training without stages.
Table stage_table(const Settings& settings, const TrainingSummary& summary);

}  // namespace roformer
