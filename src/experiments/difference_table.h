// How significantly the rows of a study differ from its reference, or from the best row if it has
// none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/length_report.h"
#include "experiments/study_rows.h"
#include "report/table.h"

namespace roformer {

// Differences between runs of the same seed, with Student's 95 % interval of their mean and the
// p-value of the paired t-test, corrected by Holm's method for the number of comparisons. `rows`
// are chosen_rows(). Each row that shares at least two seeds with its counterpart has a line. The
// counterpart is study.reference or, without one, the best row (among those with the same value of
// study.spread). The best row is known only after the trainings, so the correction then covers all
// pairs. The table is empty for a study with one seed, and without reference and spread for a
// metric with no better end.
Table difference_table(const StudySettings& study, const std::vector<StudyRow>& rows);

// The row that study.reference names for a comparison with `row`. nullptr if the study names none,
// if `row` is the reference itself, or if the reference is missing.
const StudyRow* reference_of(const StudySettings& study, const std::vector<StudyRow>& rows,
                             const StudyRow& row);

// The p-value of two rows, corrected if their pair is in the table. Empty if they share fewer than
// two seeds.
std::optional<double> p_value_of(const StudySettings& study, const std::vector<StudyRow>& rows,
                                 const StudyRow& one, const StudyRow& other);

std::string difference_caption(const StudySettings& study, const std::vector<StudyRow>& rows);

// Differences on exactly the same targets between a run and the reference's run of the same seed.
// Both runs read the same text, so the difference has a smaller error than either loss. But it says
// nothing about other trainings: that needs several seeds. In a study whose lengths are those of
// the test set, each run gets two figures: the metric's name (test_loss_at) with "_less_reference",
// in nats, and its "_standard_error" over the rows of text. `lengths` are those of
// evaluate_lengths() for `rows`; evaluations without losses by row give no figures.
void add_target_differences(const StudySettings& study, const std::vector<LengthRow>& lengths,
                            std::vector<StudyRow>& rows);

// The study's metric with the 95 % interval of the text, for the rows of a single seed, which the
// table of differences cannot show.
Table target_difference_table(const StudySettings& study, const std::vector<StudyRow>& rows);

std::string target_difference_caption(const StudySettings& study);

}  // namespace roformer
