// The tables of `roformer runs` and `roformer report`, made of what runs stored.
#pragma once

#include <string>
#include <vector>

#include "experiments/stored_run.h"
#include "experiments/study_table.h"
#include "report/table.h"

namespace roformer {

// --- A list of runs ---

enum class RunOrder {
  name,
  age,    // the latest first
  size,   // the largest first
  best,   // by task and figure, the best first
  state,  // trainings that go on first
};
void sort_runs(std::vector<StoredRun>& runs, RunOrder order);

// A row for each run. With TableUse::data, steps, bytes and figures are numbers, and a column says
// why a run failed or is damaged; people read that below the table.
Table run_list(const std::vector<StoredRun>& runs, TableUse use);

// "loss 4.755", the best validation's figure that ranks; "" without a validation.
std::string best_words(const StoredRun& run);
// "stopped at step 400 of 1,000"
std::string state_sentence(const StoredRun& run);

// --- One run ---

// What it is, how it was made and how far it is, a fact a row. `children`: the names of the runs
// that start from it.
Table run_facts(const StoredRun& run, const std::vector<std::string>& children);
// Every figure of the best and of the last validation.
Table figure_table(const StoredRun& run);
// The step, figure and size of each checkpoint.
Table checkpoint_table(const StoredRun& run);

// --- Several runs ---

// Runs beside each other, as the tables and charts of a study take them: one axis, whose values are
// the runs.
struct ComparedRuns {
  StudySettings study;
  std::vector<StudyRow> rows;  // one a run
  bool of_one_task = true;
};
ComparedRuns compared_runs(const std::vector<StoredRun>& runs);

// The keys and the facts about the data whose values differ, a column for each run. Leaves out keys
// that decide nothing (places, threads), and options of schemes that no run uses.
Table setting_differences(const ComparedRuns& runs);

// The figures of the best validations, with steps and times. If the tasks differ, only what all
// runs have, and nothing is marked as the best.
Table compared_figures(const ComparedRuns& runs, const std::vector<StoredRun>& stored);

// The metrics that every run has a curve of.
std::vector<std::string> shared_curves(const ComparedRuns& runs);

}  // namespace roformer
