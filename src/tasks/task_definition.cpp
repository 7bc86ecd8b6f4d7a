#include "tasks/task_definition.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "config/tasks/list.h"

namespace roformer {

#define ROFORMER_DECLARE_TASK(name) TaskDefinition define_##name();
ROFORMER_EACH_TASK(ROFORMER_DECLARE_TASK)
#undef ROFORMER_DECLARE_TASK

namespace {

std::vector<TaskDefinition>& definitions() {
#define ROFORMER_DEFINE_TASK(name) define_##name(),
  static std::vector<TaskDefinition> all = {ROFORMER_EACH_TASK(ROFORMER_DEFINE_TASK)};
#undef ROFORMER_DEFINE_TASK
  return all;
}

}  // namespace

const std::vector<TaskDefinition>& task_definitions() {
  return definitions();
}

const TaskDefinition& task_definition(TaskKind task) {
  const auto found = std::ranges::find(definitions(), task, &TaskDefinition::task);
  ROFORMER_ASSERT(found != definitions().end());
  return *found;
}

void register_task(TaskDefinition definition) {
  ROFORMER_ASSERT(std::ranges::count(definitions(), definition.task, &TaskDefinition::task) == 0);
  definitions().push_back(std::move(definition));
}

}  // namespace roformer
