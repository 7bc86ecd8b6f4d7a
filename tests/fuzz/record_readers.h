// The reader of published tables that is fuzzed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "fuzz/reader.h"
#include "report/table.h"
#include "records/stored_table.h"

namespace roformer::fuzz {

// What was read is stored and read as the same, and every form of it can be printed.
inline void read_record(std::string_view input) {
  const Table table = read_stored_table(parse_json(input, kFile), kFile);
  const Table again = read_stored_table(parse_json(stored_table(table).dump(), kFile), kFile);
  ROFORMER_ASSERT(to_csv(again) == to_csv(table));
  ROFORMER_ASSERT(to_markdown(again) == to_markdown(table));
  to_text(table, {.width = 40});
}

inline constexpr Reader kReaders[] = {{"record", read_record}};

}  // namespace roformer::fuzz
