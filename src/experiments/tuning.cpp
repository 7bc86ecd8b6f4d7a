#include "experiments/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/period.h"
#include "experiments/metric.h"
#include "experiments/study_table.h"

namespace roformer {
namespace {

std::vector<std::string> first_labels(const StudyRow& row, std::size_t count) {
  return {row.labels.begin(), row.labels.begin() + static_cast<std::ptrdiff_t>(count)};
}

std::vector<std::string> labels_from(const StudyRow& row, std::size_t first) {
  return {row.labels.begin() + static_cast<std::ptrdiff_t>(first), row.labels.end()};
}

const StudyAxis& axis_named(const std::vector<StudyAxis>& axes, const std::string& key) {
  const auto found = std::ranges::find(axes, key, &StudyAxis::key);
  ROFORMER_ASSERT(found != axes.end());
  return *found;
}

std::optional<double> number_of(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  try {
    return parse_period(text).amount;
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Whether the value is the least or the greatest tried value, for keys with an order. Each of only
// two values is an extreme.
bool is_edge(const StudyAxis& axis, const std::string& value) {
  if (axis.values.size() < 3) return false;
  std::vector<double> numbers;
  for (const std::string& text : axis.values) {
    const std::optional<double> number = number_of(text);
    if (!number) return false;
    numbers.push_back(*number);
  }
  const auto [least, greatest] = std::minmax_element(numbers.begin(), numbers.end());
  const std::optional<double> own = number_of(value);
  return own == *least || own == *greatest;
}

TunedChoice choice_among(const StudyTuning& tuning, const std::vector<const StudyRow*>& tried) {
  const Column metric = metric_column(tuning.study->metric);
  const std::size_t known = tuning.per.size();
  TunedChoice choice{.who = first_labels(*tried.front(), known)};
  // A value that diverged has lost. A value whose training failed (killed, disk full) counts as not
  // tried.
  for (const StudyRow* row : tried) {
    for (const RunResult& run : row->runs) {
      if (run.state != RunResult::State::failed) continue;
      choice.reason = "a training of its tuning failed: " + run.name + ": " + run.remark;
      return choice;
    }
  }
  const StudyRow& best = **std::ranges::min_element(
      tried, [&](const StudyRow* a, const StudyRow* b) { return ranks_before(*a, *b, metric); });
  if (std::isnan(best.value(tuning.study->metric))) {
    const bool finished = std::ranges::any_of(best.runs, &RunResult::finished);
    choice.reason = finished ? "no training of its tuning has a figure " + tuning.study->metric
                             : "no training of its tuning was finished: " + best.reasons();
    return choice;
  }
  choice.values = labels_from(best, known);
  for (std::size_t i = 0; i < tuning.keys.size(); ++i) {
    choice.at_edge |= is_edge(axis_named(tuning.study->axes, tuning.keys[i]), choice.values[i]);
  }
  return choice;
}

// The index of the combination among all of the tuned keys, the last key running fastest.
std::size_t combination_of(const StudyTuning& tuning, const std::vector<std::string>& values) {
  std::size_t index = 0;
  for (std::size_t i = 0; i < tuning.keys.size(); ++i) {
    const std::vector<std::string>& all = axis_named(tuning.study->axes, tuning.keys[i]).values;
    index = index * all.size() +
            static_cast<std::size_t>(std::ranges::find(all, values[i]) - all.begin());
  }
  return index;
}

std::vector<std::string> labels_of(const StudySettings& study, const StudyRun& run,
                                   const std::vector<std::string>& keys) {
  std::vector<std::string> labels;
  for (const std::string& key : keys) {
    const StudyAxis& axis = axis_named(study.axes, key);
    labels.push_back(run.values[static_cast<std::size_t>(&axis - study.axes.data())]);
  }
  return labels;
}

}  // namespace

std::vector<bool> needed_trials(const StudyTuning& tuning, const std::vector<RunResult>& results) {
  std::vector<bool> needed(results.size(), tuning.start.empty());
  if (tuning.start.empty()) return needed;
  // The one tuned key is the last axis, so a choice's trials follow each other in the values'
  // order.
  const std::vector<std::string>& values = tuning.study->axes.back().values;
  const Column metric = metric_column(tuning.study->metric);
  const double sign = metric.best == Column::Best::highest ? -1 : 1;
  const auto start = std::ranges::search(values, tuning.start).begin() - values.begin();
  for (std::size_t i = 0; i < results.size(); i += values.size()) {
    const auto loss = [&](std::size_t value) {
      const double figure = results[i + value].figure(tuning.study->metric).value_or(NAN);
      return std::isfinite(figure) ? sign * figure : INFINITY;  // diverged
    };
    auto first = static_cast<std::size_t>(start), last = first + tuning.start.size() - 1;
    while (true) {
      std::size_t best = first;
      bool known = true;
      for (std::size_t value = first; value <= last; ++value) {
        needed[i + value] = true;
        const RunResult::State state = results[i + value].state;
        known &= state == RunResult::State::finished || state == RunResult::State::diverged;
        if (loss(value) < loss(best)) best = value;
      }
      if (!known) break;
      // If all diverged, `best` is the first: the search goes on below it.
      if (std::isfinite(loss(best)) && best == last && last + 1 < values.size()) {
        ++last;
      } else if (best == first && first > 0) {
        --first;
      } else {
        break;
      }
    }
  }
  return needed;
}

TuningResults choose_tuned(const StudyTuning& tuning, const std::vector<RunResult>& results) {
  TuningResults all{.rows = study_rows(*tuning.study, results, StudyOrder::file)};
  std::vector<std::vector<const StudyRow*>> groups;
  for (const StudyRow& row : all.rows) {
    const std::vector<std::string> who = first_labels(row, tuning.per.size());
    auto group = std::ranges::find(groups, who, [&](const auto& other) {
      return first_labels(*other.front(), tuning.per.size());
    });
    if (group == groups.end()) group = groups.emplace(group);
    group->push_back(&row);
  }
  for (const auto& group : groups) all.choices.push_back(choice_among(tuning, group));
  return all;
}

StudySettings with_choices(const StudySettings& study, const TuningResults& results) {
  StudySettings chosen = study;
  const StudyTuning& tuning = *study.tuning;
  for (StudyRun& run : chosen.runs) {
    const std::vector<std::string> who = labels_of(study, run, tuning.per);
    const auto choice = std::ranges::find(results.choices, who, &TunedChoice::who);
    ROFORMER_ASSERT(choice != results.choices.end());
    run.chosen = choice->values;
    if (choice->values.empty()) {
      if (run.refusals.empty()) run.refusals.add({.message = choice->reason});
    } else if (!run.candidates.empty()) {
      run.settings = run.candidates[combination_of(tuning, choice->values)];
    }
  }
  return chosen;
}

Table tuning_table(const StudyTuning& tuning, const TuningResults& results) {
  const Column metric = metric_column(tuning.study->metric);
  std::vector<Column> columns;
  for (const std::string& key : tuning.per) columns.push_back(key_column(key));
  if (columns.empty()) columns.push_back(words_column("for"));
  std::vector<std::vector<std::string>> tried;
  for (const StudyRow& row : results.rows) {
    std::vector<std::string> values = labels_from(row, tuning.per.size());
    const bool begun = std::ranges::any_of(row.runs, [](const RunResult& run) {
      return run.state != RunResult::State::not_finished;  // else no search has come so far
    });
    if (!begun || std::ranges::find(tried, values) != tried.end()) continue;
    std::string title;
    for (std::size_t i = 0; i < values.size(); ++i) {
      title += (i == 0 ? "" : ", ") + key_column(tuning.keys[i]).title + " " + values[i];
    }
    columns.push_back({.title = title, .format = metric.format});
    tried.push_back(std::move(values));
  }
  columns.push_back(words_column("chosen"));
  Table table(columns);
  for (const TunedChoice& choice : results.choices) {
    std::vector<Cell> cells(choice.who.begin(), choice.who.end());
    if (cells.empty()) cells.emplace_back("all");
    for (const std::vector<std::string>& values : tried) {
      cells.emplace_back();
      for (const StudyRow& row : results.rows) {
        const bool own = first_labels(row, tuning.per.size()) == choice.who &&
                         labels_from(row, tuning.per.size()) == values;
        const double value = own ? row.value(tuning.study->metric) : NAN;
        if (!std::isnan(value)) cells.back() = value;
      }
    }
    std::string words =
        choice.values.empty() ? choice.reason : fmt::format("{}", fmt::join(choice.values, ", "));
    if (choice.at_edge) words += ", the edge of what was tried";
    cells.emplace_back(std::move(words));
    table.add_row(std::move(cells));
  }
  return table;
}

std::string tuning_sentence(const StudyTuning& tuning) {
  return fmt::format(
      "Chosen beforehand {}: {}, by the {} of trainings with {}, none of which is in the tables of "
      "results.",
      tuning.per.empty() ? "for all rows together"
                         : fmt::format("for each {}", fmt::join(tuning.per, " and ")),
      fmt::join(tuning.keys, ", "), metric_column(tuning.study->metric).title,
      tuning.with.empty() ? "the study's own settings" : tuning.with);
}

}  // namespace roformer
