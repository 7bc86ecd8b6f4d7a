// Checks of a study before it runs and before its record is written.
#pragma once

#include <set>
#include <string>

#include "experiments/declaration/study_settings.h"
#include "experiments/study.h"

namespace roformer {

// The data that unfinished runs lack.
struct MissingData {
  std::set<std::string> problems;  // each once
  bool of_all = false;             // no run could be begun
};
MissingData missing_data(const StudySettings& study);

// Throws Error (usage) if the data lack the set that the study measures. Otherwise the trainings
// would run first, and data that are prepared again are different data.
void require_measured_set(const StudySettings& study);

// An existing record of a protocol may hold runs of other seeds or machines that exist nowhere
// else. Throws Error if a new record in its place would lose runs. Before the study runs (usage):
// runs that are neither requested nor in their folders. Afterwards (failure): runs that lost their
// place, or were made on another machine.
void refuse_to_lose_runs(const std::string& record, const StudySettings& asked);
void refuse_to_lose_runs(const std::string& record, const StudyOutcome& outcome);

}  // namespace roformer
