// How far a row is from the study's reference on the very same targets, run by run of the same
// seed. The text that was drawn is the same for both, so that their difference is known better than
// either loss; what another training would have come to it does not say, which takes several seeds
// (difference_table.h).
#pragma once

#include <string>
#include <vector>

#include "experiments/length_rows.h"
#include "experiments/study_table.h"
#include "report/table.h"

namespace roformer {

// Of a study whose lengths are of the test set: figures of the runs, the metric's name
// (test_loss_at) with
// "_less_reference", in nats, and its "_standard_error" by the rows of text. `lengths` belong to
// `rows` as evaluate_lengths gave them; evaluations without their rows' losses give none.
void add_target_differences(const StudySettings& study, const std::vector<LengthRow>& lengths,
                            std::vector<StudyRow>& rows);

// Of the rows of a single seed, which have no place in the table of differences: the study's metric
// with the 95 % interval of the text. No rows where there are none.
Table target_difference_table(const StudySettings& study, const std::vector<StudyRow>& rows);

// What stands below it.
std::string target_difference_caption(const StudySettings& study);

}  // namespace roformer
