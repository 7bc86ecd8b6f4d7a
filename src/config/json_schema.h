// The JSON Schema (draft 7) of a configuration file, for editors: types, units, defaults, choices
// and help of every key. It is made from the table of keys (schema.h).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace roformer {

// Draft 7 is what editors' YAML extensions support best.
//
// `definitions` has one entry for each key ("training.steps") and one for each section
// ("position.rope"). Sections may be nested (`training: {steps: 5}`) or dotted (`training.steps:
// 5`), as in files. Unknown keys are refused. Has no sections of studies.
nlohmann::ordered_json json_schema_of_settings();

// {"$ref": "#/definitions/NAME"}
nlohmann::ordered_json reference_to(const std::string& definition);

// {"type": "object", "description": help, "properties": {}, "additionalProperties": false}
nlohmann::ordered_json closed_object(const std::string& help);

// The name as a regular expression that matches only it.
std::string exactly(const std::string& name);

}  // namespace roformer
