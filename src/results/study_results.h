// All that a study has come to, as its tables, charts, report and record show it.
#pragma once

#include <optional>
#include <vector>

#include "report/chart.h"
#include "results/length_rows.h"
#include "results/study_table.h"
#include "results/translation_report.h"
#include "results/tuning.h"

namespace roformer {

struct StudyResults {
  std::vector<StudyRow> rows;
  std::vector<LengthRow> lengths;                 // of studies that evaluate at several lengths
  std::optional<TranslationReport> translations;  // of studies that decode a set
  std::optional<TuningResults> tuning;            // of studies with `tune:`
  std::vector<ReferenceLine> references;          // horizontal lines in the charts of the metric
};

}  // namespace roformer
