// Records of studies as one static page: a protocol's rows of all records in one table with the
// charts of every length, what does not compare, and where everything comes from; records of other
// studies (of probes, say) with their own tables and charts below. It needs neither the studies'
// files nor runs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/origin.h"
#include "experiments/study_table.h"
#include "report/table.h"

namespace roformer {

// HTML without anything beside it. Throws Error (failure) for what is no record.
std::string records_page(const std::vector<std::filesystem::path>& records, const Origin& origin);

struct TitledTable {
  std::string name;  // "results", "differences" or "apart"
  std::string
      title;  // "leaderboard version 1, a masked language model: what compares with nothing"
  Table table;
};
// The same rows as text: of each protocol its table, the differences and what does not compare.
std::vector<TitledTable> merged_tables(const std::vector<std::filesystem::path>& records,
                                       TableUse use = TableUse::document);

}  // namespace roformer
