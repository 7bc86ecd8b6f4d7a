// The tasks that there are. A new one is a file here, its line in registry.cpp, its row among the
// facts (config/task_facts.cpp) and its keys in the schema.
#pragma once

#include "tasks/opened_task.h"

namespace roformer {

// Opens the data of settings.task and builds its model, freshly initialised. Throws Error for data
// that are not there, damaged or do not fit the settings.
OpenedTask open_task(const TaskSources& sources);

}  // namespace roformer
