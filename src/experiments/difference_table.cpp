#include "experiments/difference_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "experiments/declaration/study_metrics.h"
#include "experiments/metric.h"
#include "experiments/run_facts.h"
#include "metrics/statistics.h"

namespace roformer {
namespace {

// The figure of each finished run, by the value of the seed.
std::map<std::string, double> figures_by_seed(const StudySettings& study, const StudyRow& row,
                                              const std::string& figure) {
  const std::optional<std::size_t> seed = seed_axis(study);
  std::map<std::string, double> figures;
  if (!seed) return figures;
  for (const RunResult& run : row.runs) {
    const auto found = run.figures.find(figure);
    const bool there = run.state == RunResult::State::finished && found != run.figures.end();
    if (there && std::isfinite(found->second)) figures[run.values[*seed]] = found->second;
  }
  return figures;
}

struct Comparison {
  const StudyRow* row = nullptr;
  const StudyRow* other = nullptr;
  std::int64_t seeds = 0;
  PairedComparison result;
  double corrected = 1;
  bool shown = true;
};

// Nothing where the rows share fewer than two seeds, or answer different questions.
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
  return Comparison{.row = &row,
                    .other = &other,
                    .seeds = static_cast<std::int64_t>(first.size()),
                    .result = compare_paired(first, second)};
}

// Every pair of the rows; only those with the best are shown.
void add_pairs(const StudySettings& study, const std::vector<const StudyRow*>& rows,
               const Column& metric, std::vector<Comparison>& comparisons) {
  // One seed is compared with nothing.
  const auto several = [&](const StudyRow& row) { return row.ranked(metric.key); };
  const StudyRow* const best =
      *std::min_element(rows.begin(), rows.end(), [&](const StudyRow* a, const StudyRow* b) {
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

// One family: all comparisons of the table. Without variance there is no test.
void correct(std::vector<Comparison>& comparisons) {
  std::vector<double> p_values;
  for (const Comparison& comparison : comparisons) {
    if (!comparison.result.degenerate) p_values.push_back(comparison.result.p_value);
  }
  const std::vector<double> corrected = holm_adjusted(p_values);
  std::size_t next = 0;
  for (Comparison& comparison : comparisons) {
    if (!comparison.result.degenerate) comparison.corrected = corrected[next++];
  }
}

std::vector<Comparison> comparisons_of(const StudySettings& study,
                                       const std::vector<StudyRow>& rows, const Column& metric) {
  std::vector<Comparison> comparisons;
  if (!study.reference.empty()) {
    for (const StudyRow& row : rows) {
      const StudyRow* const reference = reference_of(study, rows, row);
      if (reference == nullptr) continue;
      if (auto comparison = compare(study, row, *reference, metric.key)) {
        comparisons.push_back(*comparison);
      }
    }
  } else if (metric.best != Column::Best::none || !study.spread.empty()) {
    // A score that differs from task to task has no better end in general, but has one in a task.
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

}  // namespace

const StudyRow* reference_of(const StudySettings& study, const std::vector<StudyRow>& rows,
                             const StudyRow& row) {
  // Its labels with the reference's value in the axis that has it.
  std::vector<std::string> labels = row.labels;
  bool replaced = false;
  for (const StudyAxis& axis : study.axes) {
    if (axis.key == kSeedAxis || axis.key == study.spread || axis.key == study.choose) continue;
    if (std::find(axis.values.begin(), axis.values.end(), study.reference) == axis.values.end()) {
      continue;
    }
    labels[label_index(study, axis.key)] = study.reference;
    replaced = true;
  }
  for (const StudyRow& other : rows) {
    bool same = replaced;
    if (replaced) {
      for (const StudyAxis& axis : study.axes) {
        if (axis.key == kSeedAxis || axis.key == study.choose) continue;
        const std::size_t index = label_index(study, axis.key);
        same &= other.labels[index] == labels[index];
      }
    } else {
      same = !study.reference.empty() && other.title() == study.reference;
    }
    if (same) return &other == &row || other.labels == row.labels ? nullptr : &other;
  }
  return nullptr;
}

namespace {

// As the metric is written, with more digits where a difference would be nothing but zeros.
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

}  // namespace

Table difference_table(const StudySettings& study, const std::vector<StudyRow>& rows) {
  const Column metric = compared_metric(study);
  const std::vector<Comparison> comparisons = comparisons_of(study, rows, metric);
  const NumberFormat format = difference_format(metric, comparisons);
  constexpr auto kWords = Column::Alignment::left;
  const std::string other = study.reference.empty() ? "best" : "reference";
  constexpr NumberFormat kPValue{NumberFormat::Style::fixed, 3};
  Table table({{.title = "row", .alignment = kWords},
               {.title = other, .alignment = kWords},
               {.title = "seeds", .format = {NumberFormat::Style::count}},
               {.title = "difference", .unit = metric.unit, .format = format},
               {.title = "95 % from", .key = "low", .format = format},
               {.title = "to", .key = "high", .format = format},
               {.title = "p", .format = kPValue},
               {.title = "p, Holm", .key = "p_holm", .format = kPValue}});
  for (const Comparison& comparison : comparisons) {
    if (!comparison.shown) continue;
    const PairedComparison& result = comparison.result;
    std::vector<Cell> cells{comparison.row->title(), comparison.other->title(), comparison.seeds,
                            result.mean_difference};
    for (const double figure :
         {result.interval.low, result.interval.high, result.p_value, comparison.corrected}) {
      cells.push_back(result.degenerate ? Cell(std::monostate()) : Cell(figure));
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
    if (same && !comparison.result.degenerate) return comparison.corrected;
  }
  const std::optional<Comparison> alone = compare(study, one, other, metric.key);
  if (!alone || alone->result.degenerate) return std::nullopt;
  return alone->result.p_value;
}

std::string difference_caption(const StudySettings& study, const std::vector<StudyRow>& rows) {
  const Column metric = compared_metric(study);
  const auto count = std::ranges::count_if(
      comparisons_of(study, rows, metric),
      [](const Comparison& comparison) { return !comparison.result.degenerate; });
  const std::string tests = fmt::format(
      "the mean, Student's 95 % interval and the two-sided paired t-test; \"p, Holm\" "
      "is corrected for {} comparison{}",
      count, count == 1 ? "" : "s");
  if (study.reference.empty()) {
    return fmt::format(
        "The {} of each row less that of the best one, seed by seed: {}: all pairs, as which row "
        "is the best is known only afterwards.",
        metric.title, tests);
  }
  return fmt::format(
      "The {} of each row less that of {}, which was named beforehand, seed by seed: "
      "{}.",
      metric.title, study.reference, tests);
}

}  // namespace roformer
