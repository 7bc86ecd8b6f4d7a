// Which runs of a protocol (study.version) belong to one command: those that its flags ask for,
// which are made now, and those that were made before, so that the tables grow from command to
// command and no row has to be made again for them. One that was stopped or failed on its way stays
// in its row, too: a mean over the seeds that came through is not that of all.
#pragma once

#include "experiments/declaration/study_settings.h"
#include "experiments/protocol_record.h"

namespace roformer {

// The study with those trials of its tuning that are asked for or whose choice is whole, and the
// runs that these choose for; `recorded` ones are whole. Warns of runs that lose their place
// because trials of theirs are missing. A study that is no protocol, or has no tuning, as it is.
StudySettings with_trials_at_hand(const StudySettings& study, const RecordedTrials& recorded);

// Once the choices are made: the runs that are asked for, finished or begun. A study that is no
// protocol as it is.
StudySettings with_runs_at_hand(const StudySettings& study);

}  // namespace roformer
