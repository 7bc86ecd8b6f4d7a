// The rows of a study: one for each combination of its axes except the seed. The figures of a row
// are means over its seeds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/declaration/study_settings.h"
#include "experiments/run_result.h"
#include "report/table.h"

namespace roformer {

// --- The study's data for tables and charts, besides its results ---

// The run of that name; nullptr if the study has none.
const StudyRun* find_run(const StudySettings& study, const std::string& name);
// The run of that name, which the study must have.
const StudyRun& run_named(const StudySettings& study, const std::string& name);
// The index of the seed among the axes. Empty if the study has no such axis.
std::optional<std::size_t> seed_axis(const StudySettings& study);
// The axes that tell rows apart: all but the seed.
std::vector<StudyAxis> row_axes(const StudySettings& study);
// The index of an axis among row_axes(), which must have it. It is also the index of the axis's
// value in a row's labels.
std::size_t label_index(const StudySettings& study, const std::string& axis);
// Whether the run's figures are those of its best validation: training.patience ends a run some
// time after it. The figures of other runs come from the last validation.
bool shows_best_validation(const StudyRun& run);
// The length at which all runs were trained. Empty if they differ.
std::optional<std::int64_t> common_training_length(const StudySettings& study);

// --- Rows ---

enum class StudyOrder {
  metric,  // the best by the study's metric first, rows without it last
  file,    // as in the study's file
};

// The runs that differ only in the seed.
struct StudyRow {
  std::vector<std::string> labels;  // one for each of row_axes()
  std::vector<RunResult> runs;
  // The score of always answering the most common class on the row's data, for tasks with classes.
  std::optional<double> commonest_class = {};

  // Whether its rank means anything: more than one seed has the metric.
  bool ranked(const std::string& metric) const { return figures(metric).size() > 1; }
  // The labels in one line; "all" for a study whose only axis is the seed.
  std::string title() const;
  // The figure of each finished run that has it. For NAME_median these are the values of NAME.
  std::vector<double> figures(const std::string& metric) const;
  // Their mean, or their median for such a metric. NaN if there are none.
  double value(const std::string& metric) const;
  // "1 of 3" if only some runs have the figure, "" if all do.
  std::string share(const std::string& metric) const;
  // "finished", "failed", "cannot be run", "1 of 3 not finished".
  std::string state() const;
  bool finished() const;  // all runs
  // The state of each run that is not finished, with its reason; "" if all are finished.
  std::string reasons() const;
};

// Rows whose figure exists for all runs come first, rows without it last. Among equals the better
// figure comes first.
bool ranks_before(const StudyRow& row, const StudyRow& other, const Column& metric);

// The question that a row's losses and accuracies answer: the fingerprint of a language model's
// tokenizer, or the kind of a probe's questions. "" if it is unknown, and for other tasks. Losses
// of different questions cannot be compared.
std::string question_of(const StudySettings& study, const StudyRow& row);
// Whether a figure depends on the question. Figures about characters or time do not.
bool is_of_question(const std::string& metric);
bool of_several_questions(const StudySettings& study, const std::vector<StudyRow>& rows);
// metric_column(), without a better end if the rows differ in their question (losses) or in their
// machine (times).
Column metric_column_of(const StudySettings& study, const std::vector<StudyRow>& rows,
                        const std::string& metric);
// Whether a figure depends on the machine, and whether the rows' runs were made on several.
bool is_of_machine(const std::string& metric);
bool of_several_machines(const std::vector<StudyRow>& rows);

// Sorts by the study's metric, the best first, rows without it last. In a protocol (study.version),
// rows of a single seed come after the others, unranked, since they say nothing about the noise
// between trainings.
void sort_rows(const StudySettings& study, std::vector<StudyRow>& rows);

// `results` are in the order of study.runs.
std::vector<StudyRow> study_rows(const StudySettings& study, const std::vector<RunResult>& results,
                                 StudyOrder order = StudyOrder::metric);

// Among rows that differ only in the axis study.choose, the row with the best mean of the metric
// over the seeds. All rows if the study chooses nothing. A row with unfinished runs is chosen only
// if there is no other.
std::vector<StudyRow> chosen_rows(const StudySettings& study, const std::vector<StudyRow>& rows);

// Appends the value unless the list has it.
template <typename Value>
void add_once(std::vector<Value>& list, const Value& value) {
  if (std::ranges::find(list, value) == list.end()) list.push_back(value);
}

}  // namespace roformer
