// The JSON Schema (draft 7) of configuration files and study files, for editors.
#pragma once

#include <nlohmann/json.hpp>

namespace roformer {

// json_schema_of_settings() and the sections of a study: study, matrix, variants, evaluate, tune.
nlohmann::ordered_json json_schema();

}  // namespace roformer
