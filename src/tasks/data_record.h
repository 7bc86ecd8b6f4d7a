// What the data of a run are, for its run.json: the folder and a name, and all that must be the
// same when the run goes on, is kept by a study or merged with others (fingerprints, sizes).
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "config/settings.h"

namespace roformer {

// Of the data as they lie there now, from their descriptions and small files alone: no shard is
// opened. Throws Error for what is not there or damaged.
nlohmann::json data_record(const Settings& settings);

// What the tasks' records are made of: XXH3, 16 hexadecimal digits. A text that is divided in
// another way has the same fingerprint, and where its documents are of one length, the same counts:
// its shards differ.
std::string file_fingerprint(const std::filesystem::path& file);
std::string shards_fingerprint(const std::vector<std::uint64_t>& checksums);

// Whether two records are of one text, or of pairs or triplets from one source, of which other
// parts were trained on: what one of them validates or tests by, the other may have trained on.
// False where one of them is older than the fingerprints that tell.
bool is_other_division(const nlohmann::json& then, const nlohmann::json& now);

}  // namespace roformer
