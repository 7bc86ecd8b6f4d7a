// The record beside a published table: one file with the study, its settings, the program and the
// machine, the results of every run, and the tables and charts themselves, which are rendered from
// it without the study's file and its runs.
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

// XXH3, as 16 hexadecimal digits, of every run's name and settings, without the places of folders:
// a study that was only moved has the same.
std::string settings_fingerprint(const StudySettings& study);

// `study_file` is the path that the study was loaded from; the record names it from the root of
// its repository, so that it says nothing of this machine's folders. The tables are those of
// study_results.h, in their order.
void write_study_record(const std::filesystem::path& record,
                        const std::filesystem::path& study_file, const StudySettings& study,
                        const StudyResults& results, const Origin& origin);

// The record of tables that no study made. `made`, how they were made, is copied into it.
struct NamedTable {
  std::string name;
  Table table;
};
void write_table_record(const std::filesystem::path& record, const std::filesystem::path& file,
                        const std::vector<NamedTable>& tables, const nlohmann::ordered_json& made,
                        const Origin& origin);

// Before a study is run for it: throws Error where the file cannot be written, and Error (usage)
// where the file exists and is no record. Only records are replaced.
void require_record_output(const std::filesystem::path& record);

// A record as it was written. Throws Error (failure) for a file that is damaged, was edited (a
// table is not edited by hand) or is no record.
nlohmann::json read_record(const std::filesystem::path& record);

// The table of that name, the first one for an empty name. Throws as read_record, and
// Error (usage) for a name that it lacks.
Table recorded_table(const std::filesystem::path& record, const std::string& name = "");

// The chart of that name (study_results.h) as a standalone SVG picture. Throws as recorded_table.
std::string recorded_chart(const std::filesystem::path& record, const std::string& name);

}  // namespace roformer
