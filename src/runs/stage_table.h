// The results of each stage of a training, as in RoFormer's table 4: loss and accuracy of the
// validation at its end, at the stage's own length and at data.length.
#pragma once

#include "config/settings.h"
#include "report/table.h"
#include "training/training_summary.h"

namespace roformer {

// One row for each stage that was validated at its end; no rows for a training without stages.
Table stage_table(const Settings& settings, const TrainingSummary& summary);

}  // namespace roformer
