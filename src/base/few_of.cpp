#include "base/few_of.h"

#include <fmt/format.h>

#include <algorithm>

namespace roformer {

std::string few_of(const std::vector<std::string>& texts, std::size_t most) {
  const std::size_t shown = std::min(texts.size(), most);
  std::string result = fmt::format(
      "{}", fmt::join(texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (shown < texts.size()) result += fmt::format(" and {} more", texts.size() - shown);
  return result;
}

}  // namespace roformer
