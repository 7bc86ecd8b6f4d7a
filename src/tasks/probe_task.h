// Probes of length: a causal model or an encoder answers questions that are made on the fly,
// trained on texts of at most data.length and tested at that length and 2, 4 ... times as long.
// Data, model, loss and metrics for the trainer.
#pragma once

#include "tasks/opened_task.h"

namespace roformer {

// Without a folder of data; every scheme gets tables for the longest test.
OpenedTask open_probe_task(const TaskSources& sources);

}  // namespace roformer
