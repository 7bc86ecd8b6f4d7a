// What the data of a run are, for its run.json: the folder and a name, and all that must be the
// same when the run goes on, is kept by a study or merged with others (fingerprints, sizes).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "config/settings.h"

namespace roformer {

// Of the data as they lie there now, from their descriptions and small files alone: no shard is
// opened. Throws Error for what is not there or damaged.
nlohmann::json data_record(const Settings& settings);

}  // namespace roformer
