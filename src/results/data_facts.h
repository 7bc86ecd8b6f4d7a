// What a run.json says of the data that its run was trained on, and what they are today: runs are
// compared, kept and merged only where these agree.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "config/settings.h"

namespace roformer {

struct DataFact {
  const char* field;  // of run.json's "data"
  const char* title;
};
std::span<const DataFact> data_facts();
// As messages show it; "" where it is not there.
std::string fact_text(const nlohmann::json& data, const DataFact& fact);

// The facts of the settings' data as they lie there now (tasks/data_record.h), and of the model
// that the training starts from. Null where they cannot be read, since a training may outlive them.
nlohmann::json data_today(const Settings& settings);

}  // namespace roformer
