// The readers of studies and of published tables that are fuzzed.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/json.h"
#include "config/dump.h"
#include "experiments/declaration/study_settings.h"
#include "experiments/stored_table.h"
#include "fuzz/memory_file.h"
#include "fuzz/reader.h"
#include "report/table.h"

namespace roformer::fuzz {

// What was read is stored and read as the same, and every form of it can be printed.
inline void read_record(std::string_view input) {
  const Table table = read_stored_table(parse_json(input, kFile), kFile);
  const Table again = read_stored_table(parse_json(stored_table(table).dump(), kFile), kFile);
  ROFORMER_ASSERT(to_csv(again) == to_csv(table));
  ROFORMER_ASSERT(to_markdown(again) == to_markdown(table));
  to_text(table, {.width = 40});
}

// A value of each axis for each run.
inline void read_study(std::string_view input) {
  const MemoryFile file(input);
  const StudySettings study = load_study(file.path());
  std::size_t runs = 1;
  for (const StudyAxis& axis : study.axes) runs *= axis.values.size();
  ROFORMER_ASSERT(study.runs.size() == runs);
  std::set<std::string> names;
  for (const StudyRun& run : study.runs) {
    ROFORMER_ASSERT(names.insert(run.name).second);
    ROFORMER_ASSERT(run.values.size() == study.axes.size() && !run.name.empty());
    ROFORMER_ASSERT(run.name.find('/') == std::string::npos && run.name != ".." && run.name != ".");
  }
  dump(study.runs.front().settings, DumpStyle::compact);
}

inline constexpr Reader kReaders[] = {{"record", read_record}, {"study", read_study}};

}  // namespace roformer::fuzz
