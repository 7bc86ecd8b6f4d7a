// The tables of a study. The page, table.md, records and the terminal all show these.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/declaration/study_settings.h"
#include "experiments/study_results.h"
#include "report/table.h"

namespace roformer {

struct StudyTable {
  std::string name;   // in records: "results", "differences", ...
  std::string title;  // a line above it where tables stand in a row; "" for the first
  Table table;
  std::string caption;  // a few sentences below it
  // Of what has no figures and why: for who watches, and no result.
  bool of_missing = false;
};

// Those that have rows, in the order in which they are read.
std::vector<StudyTable> study_tables(const StudySettings& study, const StudyResults& results,
                                     TableUse use);

// The names that there are, but for tables of what is missing.
inline constexpr std::array kStudyTableNames = {
    "spread",       "results",           "differences", "target_differences",
    "translations", "translation_tests", "tuning",      "lengths"};

// Null where there is none of that name.
const StudyTable* find_table(const std::vector<StudyTable>& tables, std::string_view name);

}  // namespace roformer
