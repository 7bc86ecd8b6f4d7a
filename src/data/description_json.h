// The parts of dataset.json that the journal of a preparation holds, too.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/fields.h"
#include "data/dataset.h"
#include "data/parallel_dataset.h"

namespace roformer {

nlohmann::ordered_json to_json(const DatasetDescription::OfSplit& split);
// `with_unknown` is false for the first version of dataset.json, which did not count unknown
// pieces.
DatasetDescription::OfSplit split_from_json(const JsonFields& fields, bool with_unknown = true);

// `with_text` is true for validation and test sets, whose text is stored.
nlohmann::ordered_json to_json(const ParallelDescription::OfSplit& split, bool with_text);
ParallelDescription::OfSplit parallel_split_from_json(const JsonFields& fields, bool with_text);

}  // namespace roformer
