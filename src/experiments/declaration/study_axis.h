// The axes of a study before they are multiplied with each other, as file and flags give them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "config/assignment.h"
#include "config/problems.h"
#include "config/yaml_file.h"

namespace roformer {

// A value of an axis: its name, and the keys that it sets, which may be more than the axis's own.
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

// The key of an axis: `position` for position.scheme.
std::string axis_key(const std::string& key);
// The name of a value. A formula of a file has its name there, after the file's where a scheme has
// that name, too.
std::string value_label(const std::string& key, const std::string& text);

// The axes of `matrix:`, or of another section with that `name`, and of `variants:`.
void read_matrix(const YamlFile::Section& section, const std::string& name,
                 std::vector<MatrixAxis>& axes, Problems& problems);
void read_variants(const YamlFile::Section& section, std::vector<MatrixAxis>& axes,
                   Problems& problems);

// nullptr where no axis has the key.
const MatrixAxis* axis_named(const std::vector<MatrixAxis>& axes, const std::string& key);

inline constexpr std::size_t kMostRuns = 10'000;  // more is a slip, not a plan

// The number of combinations of the axes, or kMostRuns + 1 if there are more.
std::size_t combinations_of(const std::vector<MatrixAxis>& axes);

// "rope", "seed1", "learning_rate0.001": the part of a run's name that a value of the axis gives.
// One that is long, or a scheme's that is not the label itself, ends with a hash of the label.
std::string name_part(const MatrixAxis& axis, const std::string& label);

// Flags with several values, or of an axis, become axes, or widen those of a protocol; returns the
// others, which are set in all runs.
std::vector<Assignment> apply_flags(const std::vector<Override>& overrides, bool protocol,
                                    std::vector<MatrixAxis>& axes, Problems& problems);

// Shortens folders to their last names where those differ: runs/a and runs/b become a and b.
void shorten_paths(std::vector<MatrixAxis>& axes);

// Refuses values that an axis has twice, which would be two runs of one name.
void refuse_repeats(const std::vector<MatrixAxis>& axes, Problems& problems);

// Refuses a key that two axes set, or an axis and a flag for all runs: the later one would win in
// silence, and runs and rows would be named after values that they do not have.
void refuse_keys_set_twice(const std::vector<MatrixAxis>& axes,
                           const std::vector<Assignment>& flags, Problems& problems);

}  // namespace roformer
