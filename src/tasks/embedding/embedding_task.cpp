#include "tasks/task_definition.h"

namespace roformer {

TaskDefinition define_embedding() {
  return {.task = TaskKind::embedding};
}

}  // namespace roformer
