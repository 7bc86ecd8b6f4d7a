// The charts of a study: the metric over the steps, its value at the end, the losses at other
// lengths. Where one chart would hold more lines than can be told apart, it becomes a small chart
// for each family of positional schemes, the other families' lines grey behind.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "experiments/declaration/study_settings.h"
#include "experiments/study_results.h"

namespace roformer {

using StudyChart = std::variant<LineChart, LineChartGrid, DotChart>;

struct NamedChart {
  std::string name;  // "curves", "figures", "lengths", "bleu_by_length"
  StudyChart chart;
};

// Those that have something to show. Of all rows, as chosen_rows() gives them.
std::vector<NamedChart> study_charts(const StudySettings& study, const StudyResults& results);

// `families` has one word for each series.
StudyChart by_family(LineChart chart, const std::vector<std::string>& families);

// A standalone picture.
std::string to_svg(const StudyChart& chart);

}  // namespace roformer
