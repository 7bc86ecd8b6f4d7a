// An axis of a study before it is multiplied with the others.
#pragma once

#include <algorithm>
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
  std::vector<std::string> asked = {};  // labels that a flag named, of a protocol; empty: all

  bool asks_for(const std::string& label) const {
    return asked.empty() || std::find(asked.begin(), asked.end(), label) != asked.end();
  }
};

}  // namespace roformer
