#include "experiments/chosen_rows.h"

#include <algorithm>

#include "experiments/metric.h"

namespace roformer {

std::vector<StudyRow> chosen_rows(const StudySettings& study, const std::vector<StudyRow>& rows) {
  if (study.choose.empty()) return rows;
  const std::size_t index = label_index(study, study.choose);
  const Column metric = metric_column(study.metric);
  const auto others = [index](const StudyRow& row) {
    std::vector<std::string> labels = row.labels;
    labels.erase(labels.begin() + static_cast<std::ptrdiff_t>(index));
    return labels;
  };
  std::vector<StudyRow> chosen;
  for (const StudyRow& row : rows) {
    const auto rival = std::find_if(chosen.begin(), chosen.end(), [&](const StudyRow& other) {
      return others(other) == others(row);
    });
    if (rival == chosen.end()) {
      chosen.push_back(row);
    } else if (ranks_before(row, *rival, metric)) {
      *rival = row;
    }
  }
  return chosen;
}

}  // namespace roformer
