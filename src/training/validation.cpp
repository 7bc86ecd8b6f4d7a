#include "training/validation.h"

#include <fmt/format.h>

namespace roformer {

std::string describe_figures(const ValidationResult& result, const std::string& separator) {
  std::string text;
  for (const auto& [name, value] : result.figures) {
    if (name.ends_with(kStandardError)) continue;
    text += fmt::format("{}{} {:.4f}", text.empty() ? "" : separator, name, value);
    const auto error = result.figures.find(name + kStandardError);
    if (error != result.figures.end()) text += fmt::format(" ± {:.4f}", error->second);
  }
  return text;
}

}  // namespace roformer
