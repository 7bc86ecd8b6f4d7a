#include "experiments/difference_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "experiments/declaration/study_metrics.h"
#include "experiments/metric.h"
#include "experiments/study_table.h"
#include "metrics/statistics.h"
#include "tasks/language/language_evaluation.h"

namespace roformer {
namespace {

// The figure of each finished run, by the value of the seed.
std::map<std::string, double> figures_by_seed(const StudySettings& study, const StudyRow& row,
                                              const std::string& metric) {
  const std::optional<std::size_t> seed = seed_axis(study);
  std::map<std::string, double> figures;
  if (!seed) return figures;
  for (const RunResult& run : row.runs) {
    const std::optional<double> figure = run.figure(metric);
    if (figure && std::isfinite(*figure)) figures[run.values[*seed]] = *figure;
  }
  return figures;
}

struct Comparison {
  std::string metric;
  const StudyRow* row = nullptr;
  const StudyRow* other = nullptr;
  std::int64_t seeds = 0;
  PairedComparison result;
  double corrected = 1;
  bool shown = true;
  bool exploratory = false;  // not among the declared tests: is not corrected
};

// Empty if the rows share fewer than two seeds or have different questions.
std::optional<Comparison> compare(const StudySettings& study, const StudyRow& row,
                                  const StudyRow& other, const std::string& figure) {
  if (is_of_question(figure) && question_of(study, row) != question_of(study, other)) {
    return std::nullopt;
  }
  const std::map<std::string, double> reference = figures_by_seed(study, other, figure);
  std::vector<double> first, second;
  for (const auto& [seed, value] : figures_by_seed(study, row, figure)) {
    const auto found = reference.find(seed);
    if (found == reference.end()) continue;
    first.push_back(value);
    second.push_back(found->second);
  }
  if (first.size() < 2) return std::nullopt;
  return Comparison{.metric = figure,
                    .row = &row,
                    .other = &other,
                    .seeds = static_cast<std::int64_t>(first.size()),
                    .result = compare_paired(first, second)};
}

// Compares every pair of the rows. Only pairs with the best row are shown.
void add_pairs(const StudySettings& study, const std::vector<const StudyRow*>& rows,
               const Column& metric, std::vector<Comparison>& comparisons) {
  // A row of one seed cannot be compared.
  const auto several = [&](const StudyRow& row) { return row.ranked(metric.key); };
  const StudyRow* const best =
      *std::ranges::min_element(rows, [&](const StudyRow* a, const StudyRow* b) {
        if (several(*a) != several(*b)) return several(*a);
        return ranks_before(*a, *b, metric);
      });
  const auto add = [&](const StudyRow& row, const StudyRow& other, bool shown) {
    std::optional<Comparison> comparison = compare(study, row, other, metric.key);
    if (!comparison) return;
    comparison->shown = shown;
    comparisons.push_back(*comparison);
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] != best) add(*rows[i], *best, true);
    for (std::size_t j = 0; j < i; ++j) {
      if (rows[i] != best && rows[j] != best) add(*rows[i], *rows[j], false);
    }
  }
}

// Comparisons without variance have no test.
bool is_corrected(const Comparison& comparison) {
  return !comparison.result.degenerate && !comparison.exploratory;
}

// Corrects for all comparisons together, or for the declared ones.
void correct(std::vector<Comparison>& comparisons) {
  std::vector<double> p_values;
  for (const Comparison& comparison : comparisons) {
    if (is_corrected(comparison)) p_values.push_back(comparison.result.p_value);
  }
  const std::vector<double> corrected = holm_adjusted(p_values);
  std::size_t next = 0;
  for (Comparison& comparison : comparisons) {
    if (is_corrected(comparison)) comparison.corrected = corrected[next++];
  }
}

std::vector<Comparison> comparisons_of(const StudySettings& study,
                                       const std::vector<StudyRow>& rows, const Column& metric) {
  std::vector<Comparison> comparisons;
  const PrimaryTests& primary = study.primary;
  const auto is_primary = [&](const StudyRow& row) {
    return std::ranges::any_of(row.labels, [&](const std::string& label) {
      return std::ranges::count(primary.rows, label) > 0;
    });
  };
  const auto add = [&](const StudyRow& row, const std::string& figure, bool exploratory) {
    const StudyRow* const reference = reference_of(study, rows, row);
    if (reference == nullptr) return;
    std::optional<Comparison> comparison = compare(study, row, *reference, figure);
    if (!comparison) return;
    comparison->exploratory = exploratory;
    comparisons.push_back(*std::move(comparison));
  };
  if (!primary.rows.empty()) {
    std::vector<std::string> metrics = primary.metrics;
    if (metrics.empty()) metrics.push_back(metric.key);
    for (const std::string& figure : metrics) {
      for (const StudyRow& row : rows) {
        if (is_primary(row)) add(row, figure, false);
      }
    }
    for (const StudyRow& row : rows) {
      if (!is_primary(row)) add(row, metric.key, true);
    }
  } else if (!study.reference.empty()) {
    for (const StudyRow& row : rows) add(row, metric.key, false);
  } else if (metric.best != Column::Best::none || !study.spread.empty()) {
    // Such a score has no better end in general, because its meaning depends on the task. Within
    // one task it has.
    std::map<std::string, std::vector<const StudyRow*>> groups;
    for (const StudyRow& row : rows) {
      std::string group = study.spread.empty() ? "" : row.labels[label_index(study, study.spread)];
      if (is_of_question(metric.key)) group += " " + question_of(study, row);
      groups[group].push_back(&row);
    }
    for (const auto& [name, group] : groups) add_pairs(study, group, metric, comparisons);
  }
  correct(comparisons);
  return comparisons;
}

Column compared_metric(const StudySettings& study) {
  return metric_column(median_of(study.metric).value_or(study.metric));
}

// The metric's format, with more digits if a difference would be all zeros.
NumberFormat difference_format(const Column& metric, const std::vector<Comparison>& comparisons) {
  constexpr int kMost = 6;
  NumberFormat format = metric.format;
  if (format.style != NumberFormat::Style::fixed) return format;
  for (const Comparison& comparison : comparisons) {
    const PairedComparison& result = comparison.result;
    double most = std::abs(result.mean_difference);
    if (!result.degenerate) {
      most = std::max({most, std::abs(result.interval.low), std::abs(result.interval.high)});
    }
    if (!comparison.shown || !(most > 0) || !std::isfinite(most)) continue;
    const int needed = static_cast<int>(std::ceil(-std::log10(most))) + 1;
    format.digits = std::max(format.digits, std::min(kMost, needed));
  }
  return format;
}

constexpr const char* kLess = "_less_reference";
constexpr const char* kError = "_less_reference_standard_error";
constexpr const char* kReach = "_less_reference_reach";  // to either side of a 95 % interval

// The run of the row that has the same seed.
const RunResult* same_seed(const StudySettings& study, const StudyRow& row, const RunResult& run) {
  const std::uint64_t seed = run_named(study, run.name).settings.seed;
  for (const RunResult& other : row.runs) {
    if (run_named(study, other.name).settings.seed == seed) return &other;
  }
  return nullptr;
}

// Losses form pairs only on the same targets, which depend on vocabulary, masks and text.
bool of_same_targets(const LanguageEvaluation& first, const LanguageEvaluation& second) {
  return first.loss_sums_by_row.size() > 1 && first.targets_by_row == second.targets_by_row &&
         first.targets_fingerprint != 0 && first.targets_fingerprint == second.targets_fingerprint;
}

}  // namespace

const StudyRow* reference_of(const StudySettings& study, const std::vector<StudyRow>& rows,
                             const StudyRow& row) {
  // The row's labels, with the reference's value in every axis that has it.
  const std::vector<StudyAxis> axes = row_axes(study);
  std::vector<std::string> labels = row.labels;
  bool replaced = false;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const StudyAxis& axis = axes[i];
    if (axis.key == study.spread || axis.key == study.choose) continue;
    if (std::ranges::find(axis.values, study.reference) == axis.values.end()) continue;
    labels[i] = study.reference;
    replaced = true;
  }
  const auto is_reference = [&](const StudyRow& other) {
    if (!replaced) return !study.reference.empty() && other.title() == study.reference;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (axes[i].key != study.choose && other.labels[i] != labels[i]) return false;
    }
    return true;
  };
  const auto other = std::ranges::find_if(rows, is_reference);
  if (other != rows.end() && &*other != &row && other->labels != row.labels) return &*other;
  return nullptr;
}

Table difference_table(const StudySettings& study, const std::vector<StudyRow>& rows) {
  const Column metric = compared_metric(study);
  const std::vector<Comparison> comparisons = comparisons_of(study, rows, metric);
  const NumberFormat format = difference_format(metric, comparisons);
  constexpr NumberFormat kPValue{NumberFormat::Style::fixed, 3};
  std::vector<Column> columns{words_column("row"),
                              words_column(study.reference.empty() ? "best" : "reference"),
                              {.title = "seeds", .format = {NumberFormat::Style::count}},
                              {.title = "difference", .unit = metric.unit, .format = format},
                              {.title = "95 % from", .key = "low", .format = format},
                              {.title = "to", .key = "high", .format = format},
                              {.title = "p", .format = kPValue},
                              {.title = "p, Holm", .key = "p_holm", .format = kPValue}};
  const bool declared = !study.primary.rows.empty();
  if (declared) {
    columns.insert(columns.begin(), words_column("figure"));
    columns.push_back(words_column("test"));
  }
  Table table(columns);
  for (const Comparison& comparison : comparisons) {
    if (!comparison.shown) continue;
    const PairedComparison& result = comparison.result;
    std::vector<Cell> cells{comparison.row->title(), comparison.other->title(), comparison.seeds,
                            result.mean_difference};
    for (const double figure :
         {result.interval.low, result.interval.high, result.p_value, comparison.corrected}) {
      cells.push_back(result.degenerate ? Cell(std::monostate()) : Cell(figure));
    }
    if (declared) {
      if (comparison.exploratory) cells.back() = std::monostate();
      cells.insert(cells.begin(), metric_column(comparison.metric).title);
      cells.emplace_back(comparison.exploratory ? "exploratory" : "declared");
    }
    table.add_row(std::move(cells));
  }
  return table;
}

std::optional<double> p_value_of(const StudySettings& study, const std::vector<StudyRow>& rows,
                                 const StudyRow& one, const StudyRow& other) {
  const Column metric = compared_metric(study);
  for (const Comparison& comparison : comparisons_of(study, rows, metric)) {
    const bool same =
        (comparison.row->labels == one.labels && comparison.other->labels == other.labels) ||
        (comparison.row->labels == other.labels && comparison.other->labels == one.labels);
    if (same && is_corrected(comparison) && comparison.metric == metric.key) {
      return comparison.corrected;
    }
  }
  const std::optional<Comparison> alone = compare(study, one, other, metric.key);
  if (!alone || alone->result.degenerate) return std::nullopt;
  return alone->result.p_value;
}

std::string difference_caption(const StudySettings& study, const std::vector<StudyRow>& rows) {
  const Column metric = compared_metric(study);
  const auto count = std::ranges::count_if(comparisons_of(study, rows, metric), is_corrected);
  const std::string tests = fmt::format(
      "the mean, Student's 95 % interval and the two-sided paired t-test; \"p, Holm\" "
      "is corrected for {} comparison{}{}",
      count, count == 1 ? "" : "s",
      study.primary.rows.empty() ? "" : ", which were declared beforehand");
  const std::string other =
      study.reference.empty() ? "the best one" : study.reference + ", which was named beforehand";
  return fmt::format(
      "The {} of each row less that of {}, seed by seed: {}{}", metric.title, other, tests,
      study.reference.empty() ? ": all pairs, as which row is the best is known only afterwards."
                              : ".");
}

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
  Table table({words_column("row of one seed"),
               words_column("reference"),
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
