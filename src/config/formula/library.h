// Formulas by name in a file of their own: `position.formula: FILE#NAME`.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "config/schemes/definition.h"

namespace roformer {

// The options that FILE#NAME stands for; a text without # is the bias itself. Throws InvalidValue
// where there is no such file or formula. A relative path is taken from `folder`.
std::vector<SchemeOption> read_formula(std::string_view text, const std::filesystem::path& folder);

}  // namespace roformer
