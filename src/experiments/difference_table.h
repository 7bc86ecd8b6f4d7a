// How surely the rows of a study differ from the one that it names as reference, or else from the
// best one: the differences between runs of the same seed, with Student's 95 % interval of their
// mean and the p-value of the paired t-test, corrected by Holm's method for how many are compared.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/study_table.h"
#include "report/table.h"

namespace roformer {

// `rows` as chosen_rows() gives them. A row for each of them that shares at least two seeds with
// the one that it is compared with: study.reference, or the best of those with the same value of
// study.spread where there is one. The best is only known afterwards, so that without a reference
// the correction is for all pairs. No rows for a study without several seeds or, without a
// reference and study.spread, for a metric of which neither end is better.
Table difference_table(const StudySettings& study, const std::vector<StudyRow>& rows);

// The row that `row` is compared with by study.reference; nullptr where the study names none, for
// the reference itself and where it is missing.
const StudyRow* reference_of(const StudySettings& study, const std::vector<StudyRow>& rows,
                             const StudyRow& row);

// How surely two rows differ: the p-value of their pair, corrected where it is in the table.
// Nothing where they share fewer than two seeds.
std::optional<double> p_value_of(const StudySettings& study, const std::vector<StudyRow>& rows,
                                 const StudyRow& one, const StudyRow& other);

// What stands below it.
std::string difference_caption(const StudySettings& study, const std::vector<StudyRow>& rows);

}  // namespace roformer
