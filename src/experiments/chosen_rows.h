// What a study shows of an axis that was only tried to find its best value (study.choose): of the
// rows that differ in nothing else, the one with the best mean of the metric over the seeds.
#pragma once

#include <vector>

#include "experiments/study_table.h"

namespace roformer {

// `rows` themselves where the study chooses nothing. Rows that are not finished are taken only
// where no other is there.
std::vector<StudyRow> chosen_rows(const StudySettings& study, const std::vector<StudyRow>& rows);

}  // namespace roformer
