// A study's metric with one axis as columns (study.spread): a row for every combination of the
// other axes, and one for each model that the paper's values name. A table of GLUE scores, say: a
// row a model, a column a task.
#pragma once

#include <vector>

#include "experiments/study_table.h"
#include "report/table.h"

namespace roformer {

// `rows` as chosen_rows() gives them. The chosen axis is not shown: its value differs by column.
Table spread_table(const StudySettings& study, const std::vector<StudyRow>& rows, TableUse use);

}  // namespace roformer
