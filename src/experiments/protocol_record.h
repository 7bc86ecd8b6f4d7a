// Additional contents of a protocol's record (study.version): the recipe that all rows share, and
// each run's scheme with the options that are not at their defaults. They decide whether rows of
// several records fit in one table, or why not.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/declaration/study_settings.h"
#include "experiments/recipe.h"
#include "experiments/run_result.h"

namespace roformer {

nlohmann::ordered_json protocol_json(const StudySettings& study);
// Further fields of a run.
nlohmann::ordered_json protocol_run_json(const StudyRun& run);

// A record that was read again, with the parts of a study that tables and charts need.
struct ProtocolRecord {
  struct Run {
    RunResult result;   // its record is the making: program, machine and data
    StudyRun settings;  // name, values, chosen, scheme and seed
    KeyTexts options;
    std::string family;
  };
  std::string file;      // of the record
  std::string protocol;  // "leaderboard": the stem of the study's file
  std::string task;
  std::string command;
  StudySettings study;                // without runs
  std::int64_t length = 0;            // of the training
  std::vector<std::int64_t> lengths;  // that were measured
  KeyTexts recipe;
  std::vector<Run> runs;
  std::vector<RunResult> trials;  // of its tuning; only their names tell their values
};

// `document` is a result of read_record. Throws Error (failure) if it is no record of a protocol.
ProtocolRecord read_protocol_record(const nlohmann::json& document,
                                    const std::filesystem::path& file);
bool is_protocol_record(const nlohmann::json& document);

// Trials of a study's tuning that a record of its protocol has (tune.record), by their names. A new
// seed of a published row then uses the choice that was made for the row.
using RecordedTrials = std::map<std::string, RunResult>;

// The trials that finished or diverged and have the study's version, recipe, data and scheme
// options. Empty without tune.record. Logs why other trials are not used. Throws Error (failure)
// for a file that is no record of a protocol.
RecordedTrials recorded_trials(const StudySettings& study);

}  // namespace roformer
