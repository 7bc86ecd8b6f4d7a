#include "experiments/target_differences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/chosen_rows.h"
#include "experiments/declaration/study_metrics.h"
#include "experiments/difference_table.h"
#include "experiments/metric.h"
#include "experiments/run_facts.h"
#include "tasks/language/language_evaluation.h"

namespace roformer {
namespace {

constexpr const char* kLess = "_less_reference";
constexpr const char* kError = "_less_reference_standard_error";
constexpr const char* kReach = "_less_reference_reach";  // to either side of a 95 % interval

// The row's run of the same seed.
const RunResult* same_seed(const StudySettings& study, const StudyRow& row, const RunResult& run) {
  const std::uint64_t seed = run_named(study, run.name).settings.seed;
  for (const RunResult& other : row.runs) {
    if (run_named(study, other.name).settings.seed == seed) return &other;
  }
  return nullptr;
}

// Models of other vocabularies, masks or texts have other targets: no loss pairs with another.
bool of_same_targets(const LanguageEvaluation& first, const LanguageEvaluation& second) {
  return first.loss_sums_by_row.size() > 1 && first.targets_by_row == second.targets_by_row &&
         first.targets_fingerprint != 0 && first.targets_fingerprint == second.targets_fingerprint;
}

}  // namespace

void add_target_differences(const StudySettings& study, const std::vector<LengthRow>& lengths,
                            std::vector<StudyRow>& rows) {
  if (!study.evaluations.of_test()) return;
  const std::vector<StudyRow> shown = chosen_rows(study, rows);
  const auto index_of = [&](const StudyRow& row) {
    const auto found = std::ranges::find(rows, row.labels, &StudyRow::labels);
    return static_cast<std::size_t>(found - rows.begin());
  };
  for (const StudyRow& row : shown) {
    const StudyRow* const reference = reference_of(study, shown, row);
    if (reference == nullptr) continue;
    const std::size_t i = index_of(row);
    const LengthRow& wanted = lengths[index_of(*reference)];
    for (RunResult& run : rows[i].runs) {
      const RunResult* const other = same_seed(study, *reference, run);
      if (other == nullptr) continue;
      for (std::size_t c = 0; c < lengths[i].cells.size(); ++c) {
        const LengthCell& own = lengths[i].cells[c];
        const auto first = wanted.cells[c].runs.find(other->name);
        const auto second = own.runs.find(run.name);
        if (first == wanted.cells[c].runs.end() || second == own.runs.end()) continue;
        if (!of_same_targets(first->second, second->second)) continue;
        const PairedLosses paired = compare_losses(first->second, second->second);
        const std::string name = test_loss_at(own.length, run_named(study, run.name).settings);
        run.figures[name + kLess] = paired.difference;
        run.figures[name + kError] = paired.standard_error;
        run.figures[name + kReach] = paired.interval.high - paired.difference;
      }
    }
  }
}

Table target_difference_table(const StudySettings& study, const std::vector<StudyRow>& rows) {
  const Column metric = metric_column(study.metric);
  constexpr auto kWords = Column::Alignment::left;
  Table table({{.title = "row of one seed", .alignment = kWords},
               {.title = "reference", .alignment = kWords},
               {.title = "difference", .unit = metric.unit, .format = metric.format},
               {.title = "95 % from", .key = "low", .format = metric.format},
               {.title = "to", .key = "high", .format = metric.format}});
  for (const StudyRow& row : rows) {
    const std::vector<double> difference = row.figures(study.metric + kLess);
    const std::vector<double> reach = row.figures(study.metric + kReach);
    if (row.ranked(study.metric) || difference.size() != 1 || reach.size() != 1) continue;
    table.add_row({row.title(), study.reference, difference.front(),
                   difference.front() - reach.front(), difference.front() + reach.front()});
  }
  return table;
}

std::string target_difference_caption(const StudySettings& study) {
  return fmt::format(
      "The {} less that of {} with the same seed, target by target. The interval is of the text "
      "that was "
      "drawn, not of other trainings: it is no test of the schemes.",
      metric_column(study.metric).title, study.reference);
}

}  // namespace roformer
