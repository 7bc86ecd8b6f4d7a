// The list `data.sources` as text: `[{directory: prepared/wiki, weight: 3}, {directory: prepared/
// books}]`.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace roformer {

// A prepared data set and how often its rows are drawn, as against those of the others.
struct DataSource {
  std::filesystem::path directory;
  double weight = 1;

  bool operator==(const DataSource&) const = default;
};

// Throws InvalidValue with what is wrong in which entry. Relative folders are taken from `folder`.
std::vector<DataSource> parse_sources(std::string_view text, const std::filesystem::path& folder);
// What parse_sources reads back.
std::string print_sources(const std::vector<DataSource>& sources);

}  // namespace roformer
