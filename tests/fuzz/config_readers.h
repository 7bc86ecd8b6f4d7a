// The readers of configurations and studies that are fuzzed, with all checks across keys.
#pragma once

#include <set>
#include <string>

#include "config/dump.h"
#include "config/load.h"
#include "config/study_settings.h"
#include "fuzz/memory_file.h"
#include "fuzz/reader.h"

namespace roformer::fuzz {

// What was read can be written, and reads as the same.
inline void read_yaml(std::string_view input) {
  const MemoryFile file(input);
  const std::string text = dump(load_settings(file.path()), DumpStyle::compact);
  const MemoryFile again(text);
  ROFORMER_ASSERT(dump(load_settings(again.path()), DumpStyle::compact) == text);
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

inline constexpr Reader kReaders[] = {{"yaml", read_yaml}, {"study", read_study}};

}  // namespace roformer::fuzz
