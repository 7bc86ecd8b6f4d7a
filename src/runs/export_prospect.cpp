#include "runs/export_prospect.h"

#include <string_view>

#include "base/error.h"
#include "config/task_facts.h"
#include "interop/causal_config.h"
#include "interop/expressible.h"

namespace roformer {
namespace {

std::string architecture_of(const Settings& settings) {
  const TaskFacts& task = task_facts(settings.task);
  if (task.exported == ExportForm::translator) {
    require_marian(settings);
    return "MarianMTModel";
  }
  if (task.causal) return std::string(causal_architecture(causal_family_of(settings)));
  return encoder_architecture(family_of(settings), task.exported == ExportForm::classifier);
}

}  // namespace

ExportProspect export_prospect(const Settings& settings) {
  try {
    return {.architecture = architecture_of(settings)};
  } catch (const Error& error) {
    return {.problem = error.parts().message};
  }
}

std::string export_line(const Settings& settings) {
  if (task_facts(settings.task).data == TaskData::generated) return "";
  const ExportProspect prospect = export_prospect(settings);
  return prospect.architecture.empty() ? "cannot be exported: " + prospect.problem
                                       : "exports as " + prospect.architecture;
}

}  // namespace roformer
