// The tables of a study that are made from its rows alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/study_rows.h"

namespace roformer {

// Who reads a table.
enum class TableUse {
  page,      // people; missing_table() below it gives the reasons
  document,  // people; the column of states includes the reasons
  data,      // programs; as for a document, but every figure is a number
};

// A column of words.
Column words_column(const std::string& title, const std::string& key = "");
// Nothing, one figure, or the mean of several with its deviation.
Cell mean_cell(const std::vector<double>& values);

// A metric of a row's finished runs: mean and deviation; "NAME_median" is the median of NAME, and
// "collapsed" counts runs. People read "4.500 (1 of 3)" where some runs lack it; such a cell is
// words and thus never the best of its column.
Cell figure_cell(const StudyRow& row, const Column& metric, TableUse use);

// Columns: the axes; in a protocol rank and number of seeds; tuned keys; the metrics
// (study.columns, or those that fit the task), each followed by the paper's value where the study
// has one; the state, where some run is not finished.
Table study_table(const StudySettings& study, const std::vector<StudyRow>& rows, TableUse use);

// The metric with the values of one axis (study.spread) as columns: a row for every combination of
// the other axes, and one for each model among the paper's values. A table of GLUE scores has a row
// for each model and a column for each task. `rows` are chosen_rows(); the chosen axis is not shown
// because its value differs by column.
Table spread_table(const StudySettings& study, const std::vector<StudyRow>& rows, TableUse use);

// The rows with runs that are not finished, and the reasons; empty where all are finished.
Table missing_table(const std::vector<StudyRow>& rows);

// Every fact that the runs' records hold about their making, each different value once: commit,
// LibTorch, machine, threads, precision, data and tokenizer with their fingerprints.
Table provenance_table(const std::vector<StudyRow>& rows);

// For each run: state, steps, tokens, minutes and the command.
Table runs_table(const std::vector<StudyRow>& rows);

}  // namespace roformer
