// The record of a published table: one file with the study, its settings, the program and the
// machine, the results of every run, and the tables and charts themselves. They can be rendered
// from it without the study's file and runs.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/origin.h"
#include "experiments/declaration/study_settings.h"
#include "experiments/study_results.h"
#include "report/table.h"

namespace roformer {

// XXH3, as 16 hexadecimal digits, of every run's name and settings without its folders. A study
// that only moved keeps the same value.
std::string settings_fingerprint(const StudySettings& study);

// `study_file` is the path from which the study was loaded. The record names it from the root of
// its repository and so contains no folder of this machine. The tables are those of
// study_results.h, in their order.
void write_study_record(const std::filesystem::path& record,
                        const std::filesystem::path& study_file, const StudySettings& study,
                        const StudyResults& results, const Origin& origin);

// The record of tables that no study made. `made` says how they were made and is copied into the
// record.
struct NamedTable {
  std::string name;
  Table table;
};
void write_table_record(const std::filesystem::path& record, const std::filesystem::path& file,
                        const std::vector<NamedTable>& tables, const nlohmann::ordered_json& made,
                        const Origin& origin);

// Call it before the study runs. Throws Error if the file cannot be written, and Error (usage) if
// the file exists and is no record. Only records are replaced.
void require_record_output(const std::filesystem::path& record);

// Reads a record. Throws Error (failure) for a file that is damaged, edited by hand or no record.
nlohmann::json read_record(const std::filesystem::path& record);

// The table of that name; the first table for an empty name. "spread:KEY" is the column KEY of the
// results in the form of the table "spread". Throws as read_record does, and Error (usage) for an
// unknown name.
Table recorded_table(const std::filesystem::path& record, const std::string& name = "");

// The chart of that name (study_results.h) as the bytes of a picture whose name ends like `file`.
// Throws as recorded_table does.
std::string recorded_chart(const std::filesystem::path& record, const std::string& name,
                           std::string_view file = ".svg");

}  // namespace roformer
