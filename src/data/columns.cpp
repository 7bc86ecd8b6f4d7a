#include "data/columns.h"

#include <cstddef>

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

}  // namespace roformer
