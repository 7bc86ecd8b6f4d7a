// All that a study has come to, as its tables, charts, report and record show it.
#pragma once

#include <optional>
#include <vector>

#include "experiments/length_rows.h"
#include "experiments/study_table.h"
#include "experiments/translation_report.h"
#include "experiments/tuning.h"
#include "report/chart.h"

namespace roformer {

struct StudyResults {
  std::vector<StudyRow> rows;
  std::vector<LengthRow> lengths;                 // of studies that evaluate at several lengths
  std::optional<TranslationReport> translations;  // of studies that decode a set
  std::optional<TuningResults> tuning;            // of studies with `tune:`
  std::vector<ReferenceLine> references;          // horizontal lines in the charts of the metric
};

}  // namespace roformer
