// Runs one training from its settings, for the command line and for studies: opens the data, builds
// the task, makes the run's folder and calls the trainer.
#pragma once

#include "config/settings.h"
#include "report/table.h"
#include "training/distributed/processes.h"
#include "training/run_directory.h"
#include "training/training_state.h"

namespace roformer {

// Trains the run settings.runs/settings.run. With ExistingRun::resume, the settings are the stored
// ones that resumed_settings returns, and run.json must fit (require_same in resume.h). Throws
// Error before it writes anything if something is wrong. If a new run fails before its first step
// has succeeded, only its log remains.
//
// Each of several processes makes the same call; only the first writes the run. They share the
// training.accumulation micro-batches of a step. A resumed run keeps its steps, even if the number
// of processes has changed.
TrainingSummary train_run(const Settings& settings, ExistingRun existing, Processes& processes);
TrainingSummary train_run(const Settings& settings, ExistingRun existing);  // one process

// The results of each stage, as in RoFormer's table 4: validation loss and accuracy at the end of
// the stage, at the stage's length and at data.length. The table has one row for each stage that
// was validated at its end, and no rows for a training without stages.
Table stage_table(const Settings& settings, const TrainingSummary& summary);

}  // namespace roformer
