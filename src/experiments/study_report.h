// The files that a study leaves beside its runs: report.html with curves, tables and how all of it
// was made, and the table as Markdown, CSV and JSON.
#pragma once

#include <filesystem>
#include <string>

#include "base/origin.h"
#include "experiments/declaration/study_settings.h"
#include "experiments/study_results.h"

namespace roformer {

// The whole page.
std::string study_html(const StudySettings& study, const StudyResults& results,
                       const Origin& origin);

// The tables' rows and, run by run, every figure and curve with the run's record.
std::string study_json(const StudySettings& study, const StudyResults& results,
                       const Origin& origin);

// Writes report.html and table.{md,csv,json} into the folder, and a CSV file for each further table
// (lengths.csv, differences.csv); returns the path of the report.
std::filesystem::path write_study_report(const std::filesystem::path& folder,
                                         const StudySettings& study, const StudyResults& results,
                                         const Origin& origin);

}  // namespace roformer
