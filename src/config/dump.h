// Settings as text: a YAML file that gives the same settings again, with or without help, and JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "config/settings.h"

namespace roformer {

enum class DumpStyle {
  commented,  // help, unit, allowed values and the default above each key
  compact,    // keys and values, for the folder of a run
};

// Writes YAML from which load_settings reads the same settings in any folder, because paths are
// absolute. Leaves out the options of schemes that are not chosen, and keys of other tasks that
// have their default.
std::string dump(const Settings& settings, DumpStyle style = DumpStyle::commented);

// The same keys as nested JSON objects, numbers as numbers.
nlohmann::ordered_json to_json(const Settings& settings);

}  // namespace roformer
