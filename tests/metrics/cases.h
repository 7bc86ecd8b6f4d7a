// The cases that make_cases.py wrote.
#pragma once

#include <nlohmann/json.hpp>

#include "base/file.h"

namespace roformer {

inline const nlohmann::json& cases() {
  static const nlohmann::json loaded = nlohmann::json::parse(read_file(FIXTURES "/cases.json"));
  return loaded;
}

}  // namespace roformer
