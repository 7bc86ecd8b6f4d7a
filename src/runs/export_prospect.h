// Tells before a training whether its model can be exported. It makes the same checks as the
// export.
#pragma once

#include <string>

#include "config/settings.h"

namespace roformer {

struct ExportProspect {
  std::string architecture;  // "RoFormerForMaskedLM"; empty: no export is possible
  std::string problem;       // why no export is possible; empty: it is
};
ExportProspect export_prospect(const Settings& settings);

// "exports as RoFormerForMaskedLM", "cannot be exported: ...". Empty for probes: nobody exports
// them.
std::string export_line(const Settings& settings);

}  // namespace roformer
