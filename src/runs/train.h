// One training from its settings: opens the data, builds the task, makes the run's folder and hands
// both to the trainer. The door for the command line and for studies.
#pragma once

#include "config/settings.h"
#include "training/distributed/processes.h"
#include "training/run_directory.h"
#include "training/training_summary.h"

namespace roformer {

// Trains settings.runs/settings.run. With ExistingRun::resume the settings are the stored ones, as
// resumed_settings gives them, and the data, their tokenizer and the precision must be those that
// run.json names. Throws Error before anything is written when something is wrong; a new run that
// fails before it is known that a step did no harm leaves its log and no run.
//
// Each of several processes makes the same call; the first writes the run. A step then has
// training.accumulation micro-batches of each process. A run goes on with as many micro-batches a
// step as it was begun with, shared by however many processes there are now.
TrainingSummary train_run(const Settings& settings, ExistingRun existing, Processes& processes);
TrainingSummary train_run(const Settings& settings, ExistingRun existing);  // one process

}  // namespace roformer
