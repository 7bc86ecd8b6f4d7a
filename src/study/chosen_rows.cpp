#include "study/chosen_rows.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "metrics/statistics.h"
#include "study/metric.h"

namespace roformer {
namespace {

// Greater is better: finished rows before others, then by the mean.
std::tuple<bool, double> merit(const StudyRow& row, const Column& metric) {
  const std::vector<double> values = row.figures(metric.key);
  if (values.empty() || std::isnan(mean(values))) return {false, -INFINITY};
  const double value = mean(values);
  return {row.finished(), metric.best == Column::Best::lowest ? -value : value};
}

}  // namespace

std::vector<StudyRow> chosen_rows(const StudySettings& study, const std::vector<StudyRow>& rows) {
  if (study.choose.empty()) return rows;
  const std::size_t place = label_place(study, study.choose);
  const Column metric = metric_column(study.metric);
  const auto others = [place](const StudyRow& row) {
    std::vector<std::string> labels = row.labels;
    labels.erase(labels.begin() + static_cast<std::ptrdiff_t>(place));
    return labels;
  };
  std::vector<StudyRow> chosen;
  for (const StudyRow& row : rows) {
    const auto rival = std::find_if(chosen.begin(), chosen.end(), [&](const StudyRow& other) {
      return others(other) == others(row);
    });
    if (rival == chosen.end()) {
      chosen.push_back(row);
    } else if (merit(row, metric) > merit(*rival, metric)) {
      *rival = row;
    }
  }
  return chosen;
}

}  // namespace roformer
