#include "config/position_remarks.h"

#include <algorithm>

#include "config/position_facts.h"
#include "config/schemes/definition.h"

namespace roformer {

std::vector<std::string> position_remarks(const Settings& settings) {
  std::int64_t length = settings.data.length;
  for (const StageSettings& stage : settings.stages)
    length = std::max(length, stage.length.value_or(0));
  std::vector<std::string> remarks;
  for (const SchemePart& part : scheme_parts(settings.position, settings.model.layers)) {
    const SchemeDefinition* const scheme = find_scheme_definition(part.position.scheme);
    if (scheme == nullptr || scheme->remark == nullptr) continue;
    std::string remark = scheme->remark(part.position, length);
    if (!remark.empty() && std::ranges::count(remarks, remark) == 0) {
      remarks.push_back(std::move(remark));
    }
  }
  return remarks;
}

}  // namespace roformer
