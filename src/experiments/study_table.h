// The table of a study: a row for every combination of its axes but the seed, over whose values the
// figures are averaged.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/declaration/study_settings.h"
#include "experiments/run_result.h"
#include "report/table.h"

namespace roformer {

enum class StudyOrder {
  metric,  // the best by the study's metric first, rows without it last
  file,    // as the study's file has them
};

// The runs that differ in nothing but the seed.
struct StudyRow {
  std::vector<std::string> labels;  // one of each axis but the seed
  std::vector<RunResult> runs;
  // What always answering the commonest class scores on the row's data; where there are classes.
  std::optional<double> commonest_class = {};

  // Whether its place among the others means anything: more than one seed has the metric.
  bool ranked(const std::string& metric) const { return figures(metric).size() > 1; }
  // The labels in one line; "all" for a study without other axes than the seed.
  std::string title() const;
  // Of the finished runs that have the figure; those of NAME for the metric NAME_median.
  std::vector<double> figures(const std::string& metric) const;
  // Their mean, or the median where the metric is one; NaN without any.
  double value(const std::string& metric) const;
  // "1 of 3" where not all runs have the figure, "" where all have it.
  std::string share(const std::string& metric) const;
  // "finished", "failed", "cannot be run", "1 of 3 not finished".
  std::string state() const;
  bool finished() const;
  // What became of the runs that are not finished, and why; "" when all are.
  std::string reasons() const;
};

// Where in the labels of a row the value of an axis stands; the axis is there and is not the seed.
std::size_t label_index(const StudySettings& study, const std::string& axis);

// True where the row belongs before the other: rows of which all runs have the figure first, rows
// without any last, and among equals the better one by its metric.
bool ranks_before(const StudyRow& row, const StudyRow& other, const Column& metric);

// Who reads a table.
enum class TableUse {
  page,      // people; missing_table() stands below and gives the reasons
  document,  // people; the state comes with its reasons
  data,      // programs; the same, and every figure is a number
};

// A metric of a row's finished runs: mean and deviation; "NAME_median" is the median of NAME, and
// "collapsed" counts runs. For people "4.500 (1 of 3)" where some runs lack it, which are words and
// thus never the best of their column.
Cell figure_cell(const StudyRow& row, const Column& metric, TableUse use);

// What the losses and accuracies of a row are of: the fingerprint of a language model's tokenizer,
// or the kind of a probe's questions; "" where none is known or the task is another.
std::string question_of(const StudySettings& study, const StudyRow& row);
// Whether a figure is of that question, and not of characters or of the clock.
bool is_of_question(const std::string& metric);
// Whether the rows answer several. Their losses and accuracies are of different things then, and
// none of them is better than another's.
bool of_several_questions(const StudySettings& study, const std::vector<StudyRow>& rows);
// metric_column(), with no better end where such rows do not compare by it.
Column metric_column_of(const StudySettings& study, const std::vector<StudyRow>& rows,
                        const std::string& metric);

// By the study's metric, the best first, rows without it last. Of a protocol (study.version) rows
// of a single seed, which say nothing of the noise between trainings, come behind the others
// unranked.
void sort_rows(const StudySettings& study, std::vector<StudyRow>& rows);

// `results` are in the order of study.runs.
std::vector<StudyRow> study_rows(const StudySettings& study, const std::vector<RunResult>& results,
                                 StudyOrder order = StudyOrder::metric);

// Columns: the axes, of a protocol rank and number of seeds, the metrics (study.columns, or those
// that fit the task), behind each of them the paper's value where the study has one, and the state
// where some run is not finished.
Table study_table(const StudySettings& study, const std::vector<StudyRow>& rows, TableUse use);

// The rows with runs that are not finished, and the reasons; no rows when all are.
Table missing_table(const std::vector<StudyRow>& rows);

}  // namespace roformer
