// One training from its settings, for the command line and for studies: opens the data, builds the
// task, makes the run's folder and calls the trainer.
#pragma once

#include "config/settings.h"
#include "report/table.h"
#include "training/distributed/processes.h"
#include "training/run_directory.h"
#include "training/training_state.h"

namespace roformer {

// Trains settings.runs/settings.run. With ExistingRun::resume the settings are the stored ones, as
// resumed_settings returns them, and run.json must fit (require_same in resume.h). Throws Error
// before anything is written when something is wrong; a new run that fails before its first step is
// known to be sound leaves its log and no run.
//
// Each of several processes makes the same call; the first writes the run. A step then has
// training.accumulation micro-batches of each process. A resumed run keeps its number of
// micro-batches a step, whatever the number of processes is now.
TrainingSummary train_run(const Settings& settings, ExistingRun existing, Processes& processes);
TrainingSummary train_run(const Settings& settings, ExistingRun existing);  // one process

// The results of each stage, as in RoFormer's table 4: loss and accuracy of the validation at its
// end, at the stage's length and at data.length. One row for each stage that has been validated at
// its end; no rows for a training without stages.
Table stage_table(const Settings& settings, const TrainingSummary& summary);

}  // namespace roformer
