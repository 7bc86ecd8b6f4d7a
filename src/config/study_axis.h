// An axis of a study before it is multiplied with the others.
#pragma once

#include <string>
#include <vector>

#include "config/assignment.h"

namespace roformer {

// A value of an axis: what it is called and what it sets.
struct MatrixValue {
  std::string label;
  std::vector<Assignment> assignments;
};

// One key, or "variant" for the named sets of keys, and the values that it takes.
struct MatrixAxis {
  std::string key;
  SourceLocation where;
  std::vector<MatrixValue> values;
};

}  // namespace roformer
