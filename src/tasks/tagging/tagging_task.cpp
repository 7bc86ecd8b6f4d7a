#include "tasks/task_definition.h"

namespace roformer {

TaskDefinition define_tagging() {
  return {.task = TaskKind::tagging};
}

}  // namespace roformer
