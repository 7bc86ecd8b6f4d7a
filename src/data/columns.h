// Lines of files that have tabs between their columns.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace roformer {

// One at least; they are parts of the line.
std::vector<std::string_view> tab_columns(std::string_view line);

// The index of the column with this name. Throws Error (failure) where two have it; `location` is
// that of the line of names.
std::optional<std::size_t> column_named(const std::vector<std::string_view>& names,
                                        std::string_view name, const std::string& location);

}  // namespace roformer
