// Where the figures of a study come from: program, machine and data as its runs recorded them.
#pragma once

#include <string>
#include <vector>

#include "experiments/study_table.h"
#include "report/table.h"

namespace roformer {

// Fact by fact what the runs' records say, every different value once: commit, LibTorch, machine,
// threads, precision, data and tokenizer with their fingerprints.
Table provenance_table(const std::vector<StudyRow>& rows);

// Run by run: steps, tokens, minutes and the command.
Table runs_table(const std::vector<StudyRow>& rows);

}  // namespace roformer
