// What the record of a protocol (study.version) holds beside that of any study, so that rows of
// several records can stand in one table, or it can be said why they must not: the recipe that all
// rows share, and of each run its scheme with the options that it does not leave at their defaults.
#pragma once

#include <filesystem>
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

// A record that was read again, as far as tables and charts need a study.
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
  std::vector<RunResult> trials;  // of its tuning; their values stand in their names alone
};

// Throws Error (failure) for what is no record of a protocol. `document` as read_record gives
// it.
ProtocolRecord read_protocol_record(const nlohmann::json& document,
                                    const std::filesystem::path& file);
bool is_protocol_record(const nlohmann::json& document);

}  // namespace roformer
