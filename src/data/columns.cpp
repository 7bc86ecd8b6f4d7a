#include "data/columns.h"

#include <algorithm>

#include "base/error.h"

namespace roformer {

std::vector<std::string_view> tab_columns(std::string_view line) {
  std::vector<std::string_view> columns;
  for (;;) {
    const std::size_t tab = line.find('\t');
    columns.push_back(line.substr(0, tab));
    if (tab == std::string_view::npos) return columns;
    line.remove_prefix(tab + 1);
  }
}

std::optional<std::size_t> column_named(const std::vector<std::string_view>& names,
                                        std::string_view name, const std::string& location) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  if (std::ranges::count(names, name) > 1) {
    throw_failure(location, "has two columns \"" + std::string(name) + "\"",
                  "which of them is meant is not known");
  }
  return static_cast<std::size_t>(found - names.begin());
}

}  // namespace roformer
