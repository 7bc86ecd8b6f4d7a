// The tables of a study that need only its rows.
#pragma once

#include <string>
#include <vector>

#include "experiments/study_rows.h"

namespace roformer {

// The reader of a table.
enum class TableUse {
  page,      // people; missing_table() below it gives the reasons
  document,  // people; the column of states includes the reasons
  data,      // programs; as for a document, but every figure is a number
};

// A column of words.
Column words_column(const std::string& title, const std::string& key = "");
// The column of a key. Its title is "left" for position.shaw.left; CSV and JSON use the whole key.
Column key_column(const std::string& key);
// An empty cell, one figure, or the mean of several with its deviation.
Cell mean_cell(const std::vector<double>& values);

// A metric of a row's finished runs: mean and deviation. "NAME_median" is the median of NAME, and
// "collapsed" counts runs. If some runs lack the metric, people read "4.500 (1 of 3)"; such a cell
// holds words and is never the best of its column.
Cell figure_cell(const StudyRow& row, const Column& metric, TableUse use);

// Columns: the axes; in a protocol rank and number of seeds; tuned keys; the metrics
// (study.columns, or those that fit the task), each followed by the paper's value if the study has
// one; the state, if some run is not finished.
Table study_table(const StudySettings& study, const std::vector<StudyRow>& rows, TableUse use);

// The metric with the values of one axis (study.spread) as columns. Every combination of the other
// axes has a row, and so has each model among the paper's values. For example, a table of GLUE
// scores has a row for each model and a column for each task. `rows` are chosen_rows(); the chosen
// axis is not shown because its value differs by column.
Table spread_table(const StudySettings& study, const std::vector<StudyRow>& rows, TableUse use);

// The rows with runs that are not finished, and the reasons. Empty if all are finished.
Table missing_table(const std::vector<StudyRow>& rows);

// A sentence that marks rows whose attention made its gradient in another way than the others', or
// whose records do not say how: they do not compare. "" if all say the same, or none says it.
std::string attention_sentence(const std::vector<StudyRow>& rows);

// Every fact in the runs' records about how they were made, each different value once: commit,
// LibTorch, machine, threads, precision, data and tokenizer with their fingerprints.
Table provenance_table(const std::vector<StudyRow>& rows);

// For each run: state, steps, tokens, minutes and the command.
Table runs_table(const std::vector<StudyRow>& rows);

}  // namespace roformer
