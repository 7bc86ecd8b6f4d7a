// The table of a study: a row for every combination of its axes but the seed, over whose values the
// figures are averaged.
#pragma once

#include <string>
#include <vector>

#include "config/study_settings.h"
#include "report/table.h"
#include "study/run_result.h"

namespace roformer {

enum class RowOrder {
  metric,  // the best by the study's metric first, rows without it last
  file,    // as the study's file has them
};

// The runs that differ in nothing but the seed.
struct StudyRow {
  std::vector<std::string> labels;  // one of each axis but the seed
  std::vector<RunResult> runs;

  // The labels in one line; "all" for a study without other axes than the seed.
  std::string title() const;
  // Of the finished runs that have the figure.
  std::vector<double> figures(const std::string& metric) const;
  // "" when all is finished; else what became of the others and why.
  std::string state() const;
};

// `results` are in the order of study.runs.
std::vector<StudyRow> study_rows(const StudySettings& study, const std::vector<RunResult>& results,
                                 RowOrder order = RowOrder::metric);

// Columns: the axes, the metrics (study.columns, or those that fit the task), behind each of them
// the paper's value where the study has one, and the state where some run is not finished.
Table study_table(const StudySettings& study, const std::vector<StudyRow>& rows);

}  // namespace roformer
