// How surely the rows of a study differ from the best one: the differences between runs of the same
// seed, with Student's 95 % interval of their mean and the p-value of the paired t-test.
#pragma once

#include <string>
#include <vector>

#include "report/table.h"
#include "study/study_table.h"

namespace roformer {

// `rows` as chosen_rows() gives them. A row for each of them that shares at least two seeds with
// the best one, which is the best of those with the same value of study.spread where there is one.
// No rows for a study without several seeds or, without study.spread, for a metric of which neither
// end is better.
Table difference_table(const StudySettings& study, const std::vector<StudyRow>& rows);

// What stands below it.
std::string difference_caption(const StudySettings& study);

}  // namespace roformer
