// Whether a model of some settings can be exported, before it is trained: asked of the same checks
// that an export makes.
#pragma once

#include <string>

#include "config/settings.h"

namespace roformer {

struct ExportProspect {
  std::string architecture;  // "RoFormerForMaskedLM"; empty where there is none
  std::string problem;       // why there is none, in words
};
ExportProspect export_prospect(const Settings& settings);

// "exports as RoFormerForMaskedLM", "cannot be exported: ...". Empty for probes, of which nobody
// wants a folder.
std::string export_line(const Settings& settings);

}  // namespace roformer
