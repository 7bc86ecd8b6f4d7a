#include "experiments/length_rows.h"

#include <cmath>

#include "experiments/declaration/study_metrics.h"
#include "experiments/run_facts.h"

namespace roformer {

void add_test_figures(const StudySettings& study, const std::vector<LengthRow>& lengths,
                      std::vector<StudyRow>& rows) {
  if (!study.evaluations.of_test()) return;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const LengthCell& cell : lengths[i].cells) {
      for (RunResult& result : rows[i].runs) {
        const auto evaluated = cell.runs.find(result.name);
        if (evaluated == cell.runs.end()) continue;
        const std::string name = test_loss_at(cell.length, run_named(study, result.name).settings);
        const auto add = [&](const std::string& figure, double value) {
          if (std::isfinite(value)) result.figures[figure] = value;
        };
        add(name, evaluated->second.loss);
        add(name + "_standard_error", evaluated->second.standard_error);
      }
    }
  }
}

}  // namespace roformer
