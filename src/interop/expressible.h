// Which family of transformers can hold a model of some settings. Asked before a training, and by
// every export.
#pragma once

#include <string>

#include "config/settings.h"
#include "interop/family.h"

namespace roformer {

// Throws Error (usage) that says in words everything that the nearest family cannot express.
const Family& exported_family(const Settings& settings);
// "BertForMaskedLM": the class that an export is loaded as. Throws as exported_family does.
std::string exported_architecture(const Settings& settings);

}  // namespace roformer
