// A table as JSON with everything that its renderings read: titles, units, digits, which end is the
// best, and every cell with all its digits. A table that is read again renders the same, byte for
// byte.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "report/table.h"

namespace roformer {

nlohmann::ordered_json stored_table(const Table& table);

// Throws Error (failure, location `file`) for a document that stored_table did not write.
Table read_stored_table(const nlohmann::json& value, const std::string& file);

}  // namespace roformer
