#include "runs/export_prospect.h"

#include "base/error.h"
#include "config/task_facts.h"
#include "interop/expressible.h"

namespace roformer {
ExportProspect export_prospect(const Settings& settings) {
  try {
    return {.architecture = exported_architecture(settings)};
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
