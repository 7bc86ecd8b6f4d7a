// A chart as JSON, so that a picture can be drawn again from a record without the study's runs. A
// chart that is read again draws the same picture, byte for byte.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "experiments/study_results.h"

namespace roformer {

nlohmann::ordered_json stored_chart(const StudyChart& chart);

// Throws Error (failure, location `file`) for a document that stored_chart did not write.
StudyChart read_stored_chart(const nlohmann::json& value, const std::string& file);

}  // namespace roformer
