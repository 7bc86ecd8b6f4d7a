// generation_config.json, or the same fields in config.json, tell transformers' generate() how to
// translate: tokens, the search, and options that have no counterpart here.
#pragma once

#include <cstdint>

#include "interop/family.h"

namespace roformer {

// Ids that a family has where the files name none.
struct GenerationDefaults {
  std::int64_t padding = 0, end = 0;
  std::int64_t forced_end = -1;  // forced_eos_token_id; -1: none
};
// Reads the tokens, settings.decoding and the notes. `fields`: config.json. config.rows must be
// known. Throws Error (failure) for an id without a row.
void read_generation(const JsonFields& fields, const JsonFields& generation,
                     const GenerationDefaults& defaults, FolderConfig& config);

// generation_config.json with MarianMT's fields.
nlohmann::ordered_json write_generation(const ExportedConfig& config);

}  // namespace roformer
