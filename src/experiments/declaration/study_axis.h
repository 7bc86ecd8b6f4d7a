// The axes of a study as file and flags give them, before the combinations are formed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "config/assignment.h"
#include "config/problems.h"
#include "config/yaml_file.h"

namespace roformer {

// A value of an axis: its name, and the keys that it sets, which may include keys beyond the axis's
// own.
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
    return asked.empty() || std::ranges::find(asked, label) != asked.end();
  }
};

// The key of an axis: `position` for position.scheme.
std::string axis_key(const std::string& key);
// The name of a value. A formula has the name that its file gives it, with the file's name before
// it if a scheme has the same name.
std::string value_label(const std::string& key, const std::string& text);

// The axes of `matrix:`, or of another section with that `name`, and of `variants:`.
void read_matrix(const YamlFile::Section& section, const std::string& name,
                 std::vector<MatrixAxis>& axes, Problems& problems);
void read_variants(const YamlFile::Section& section, std::vector<MatrixAxis>& axes,
                   Problems& problems);

// nullptr if no axis has the key.
const MatrixAxis* axis_named(const std::vector<MatrixAxis>& axes, const std::string& key);

inline constexpr std::size_t kMostRuns = 10'000;  // more is a slip, not a plan

// The number of combinations of the axes, or kMostRuns + 1 if there are more.
std::size_t combinations_of(const std::vector<MatrixAxis>& axes);

// "rope", "seed1", "learning_rate0.001": the part of a run's name that a value of the axis gives.
// It ends with a hash of the label if the label is long, or if it is a scheme's name but not the
// label itself.
std::string name_part(const MatrixAxis& axis, const std::string& label);

// A flag with several values, or one that names an axis, becomes an axis, or adds values to an axis
// of a protocol. Returns the other flags, which are set in all runs.
std::vector<Assignment> apply_flags(const std::vector<Override>& overrides, bool protocol,
                                    std::vector<MatrixAxis>& axes, Problems& problems);

// Shortens folders to their last names if those differ: runs/a and runs/b become a and b.
void shorten_paths(std::vector<MatrixAxis>& axes);

// Refuses repeated values of an axis, which would give two runs the same name.
void refuse_repeats(const std::vector<MatrixAxis>& axes, Problems& problems);

// Refuses a key that two axes set, or that an axis and a flag for all runs set. The later one would
// win silently, and runs and rows would be named after values that they do not have.
void refuse_keys_set_twice(const std::vector<MatrixAxis>& axes,
                           const std::vector<Assignment>& flags, Problems& problems);

}  // namespace roformer
