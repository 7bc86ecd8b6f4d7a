#include "training/validation.h"

#include <fmt/format.h>

namespace roformer {

std::string describe_figures(const Figures& figures, const std::string& separator) {
  std::string text;
  for (const auto& [name, value] : figures) {
    if (name.ends_with(kStandardError)) continue;
    text += fmt::format("{}{} {:.4f}", text.empty() ? "" : separator, name, value);
    const auto error = figures.find(name + kStandardError);
    if (error != figures.end()) text += fmt::format(" ± {:.4f}", error->second);
  }
  return text;
}

}  // namespace roformer
