// The record of a run's data in its run.json: folder, name, fingerprints and sizes. Resuming a run,
// keeping it in a study and merging studies compare these records.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "config/settings.h"

namespace roformer {

// Describes the data as they are now. Reads descriptions and small files, and opens no shard.
// Throws Error for missing or damaged data.
nlohmann::json data_record(const Settings& settings);

// Parts of the tasks' records: XXH3 as 16 hexadecimal digits. The shards tell two divisions of one
// text apart. Both divisions have the same text fingerprint, and the same counts if all documents
// have one length.
std::string file_fingerprint(const std::filesystem::path& file);
std::string shards_fingerprint(const std::vector<std::uint64_t>& checksums);

// Whether two records divide one text (or the pairs or triplets of one source) differently, so that
// one run may have trained on the other's validation or test data. False if a record is too old to
// have the fingerprints.
bool is_other_division(const nlohmann::json& then, const nlohmann::json& now);

}  // namespace roformer
