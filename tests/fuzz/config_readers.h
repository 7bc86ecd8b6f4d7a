// The readers of configurations and studies that are fuzzed, with all checks across keys.
#pragma once

#include <set>
#include <string>

#include "config/dump.h"
#include "config/load.h"
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

inline constexpr Reader kReaders[] = {{"yaml", read_yaml}};

}  // namespace roformer::fuzz
