#include "tasks/registry.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "tasks/glue_task.h"
#include "tasks/language_task.h"
#include "tasks/matching_task.h"
#include "tasks/probe_task.h"
#include "tasks/translation_task.h"

namespace roformer {
namespace {

struct TaskDefinition {
  TaskKind task;
  OpenedTask (*open)(const TaskSources&);
};

constexpr std::array kTasks = {
    TaskDefinition{TaskKind::mlm, open_language_task},
    TaskDefinition{TaskKind::causal_lm, open_language_task},
    TaskDefinition{TaskKind::glue, open_glue_task},
    TaskDefinition{TaskKind::translation, open_translation_task},
    TaskDefinition{TaskKind::matching, open_matching_task},
    TaskDefinition{TaskKind::probe, open_probe_task},
    TaskDefinition{TaskKind::masked_probe, open_probe_task},
};

}  // namespace

OpenedTask open_task(const TaskSources& sources) {
  const auto* const found = std::ranges::find(kTasks, sources.settings.task, &TaskDefinition::task);
  ROFORMER_ASSERT(found != kTasks.end());
  return found->open(sources);
}

}  // namespace roformer
