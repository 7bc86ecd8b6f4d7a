#include "base/stored_fields.h"

#include <cmath>
#include <limits>

namespace roformer {
namespace {

double read_number(const nlohmann::json& value, const JsonFields& fields, const std::string& name) {
  using Limits = std::numeric_limits<double>;
  if (value.is_number()) return value.get<double>();
  if (value == "nan") return Limits::quiet_NaN();
  if (value == "inf") return Limits::infinity();
  if (value == "-inf") return -Limits::infinity();
  fields.refuse(name, "a number, or a list of them");
}

}  // namespace

nlohmann::ordered_json number_json(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

double number_of(const JsonFields& fields, const std::string& name) {
  return read_number(fields.any(name), fields, name);
}

void StoredReader::field(const char* name, std::vector<double>& values) {
  values.clear();
  for (const nlohmann::json& value : fields_.list(name)) {
    values.push_back(read_number(value, fields_, name));
  }
}

}  // namespace roformer
