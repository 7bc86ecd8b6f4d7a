// What a run.json says of the data that its run was trained on, and what they are today: runs are
// compared, kept and merged only where these agree.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "config/settings.h"

namespace roformer {

// The "data" of a run.json; null where it has none.
nlohmann::json recorded_data(const nlohmann::json& record);

struct DataDifference {
  std::string title;       // "tokenizer of the data"
  std::string one, other;  // as messages show it
};

// Null is data of which nothing is known. A fact that one of them lacks says
// nothing, since programs of other versions wrote other facts; a list that is not there is empty.
std::vector<DataDifference> data_differences(const nlohmann::json& one,
                                             const nlohmann::json& other);

// The facts of the settings' data as they lie there now (tasks/data_record.h), and of the model
// that the training starts from. Null where they cannot be read, since a training may outlive them.
nlohmann::json data_today(const Settings& settings);

}  // namespace roformer
