// Lines of files that have tabs between their columns.
#pragma once

#include <string_view>
#include <vector>

namespace roformer {

// One at least; they are parts of the line.
std::vector<std::string_view> tab_columns(std::string_view line);

}  // namespace roformer
