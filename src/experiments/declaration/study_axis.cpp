#include "experiments/declaration/study_axis.h"

#include <xxhash.h>

#include <cctype>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "base/hexadecimal.h"
#include "config/position_facts.h"
#include "config/schema.h"

namespace roformer {
namespace {

std::string folder_name(const std::string& path) {
  const std::filesystem::path folder = (std::filesystem::path(path) / "").lexically_normal();
  return folder.parent_path().filename().string();
}

// Commas inside brackets belong to a value: min(a, b), {0-2: rope, 3: none}.
std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts(1);
  int open = 0;
  for (const char c : text) {
    open += c == '(' || c == '[' || c == '{';
    open -= c == ')' || c == ']' || c == '}';
    if (c == ',' && open <= 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// The axis's value that a flag means. It has the same name, and its keys begin with the keys of the
// flag (two files may have formulas of one name).
const MatrixValue* value_meant(const MatrixAxis& axis, const MatrixValue& flag) {
  // The flag names a formula as the file does.
  const bool named = axis.key == "position" && find_position_facts(flag.label) == nullptr &&
                     flag.assignments.size() == 1 && flag.assignments.front().text == flag.label;
  for (const MatrixValue& value : axis.values) {
    if (named && value.label == flag.label) return &value;
    const auto same = [](const Assignment& own, const Assignment& given) {
      return may_mean_the_same(own.key, given.key) && own.text == given.text;
    };
    if (value.label != flag.label || value.assignments.size() < flag.assignments.size()) continue;
    if (std::equal(
            flag.assignments.begin(), flag.assignments.end(), value.assignments.begin(),
            [&](const Assignment& given, const Assignment& own) { return same(own, given); })) {
      return &value;
    }
  }
  return nullptr;
}

// The label with only those characters that a folder's name may have. It never begins like a flag.
std::string readable_part(const MatrixAxis& axis, const std::string& label) {
  const bool plain = axis.key == "position" || axis.key == "variant";
  std::string text = plain ? label : axis.key.substr(axis.key.rfind('.') + 1) + label;
  for (char& c : text) {
    const bool kept =
        std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-' || c == '+';
    if (!kept) c = '_';
  }
  return text.starts_with('-') ? "_" + text : text;
}

// Adds the values that a flag names to the values of the axis.
void widen(MatrixAxis& axis, MatrixAxis flag) {
  for (MatrixValue& value : flag.values) {
    axis.asked.push_back(value.label);
    if (value_meant(axis, value) == nullptr) axis.values.push_back(std::move(value));
  }
}

// Replaces the values of the axis by those that flags name. A value that the file also has keeps
// its keys from the file.
void replace(MatrixAxis& axis, const std::vector<MatrixAxis>& flags) {
  MatrixAxis named = flags.front();
  named.values.clear();
  for (const MatrixAxis& flag : flags) {
    for (const MatrixValue& value : flag.values) {
      const MatrixValue* const own = value_meant(axis, value);
      named.values.push_back(own == nullptr ? value : *own);
    }
  }
  axis = std::move(named);
}

// `runs` is one folder, even if its name has commas.
std::vector<std::string> values_of(const Assignment& flag) {
  return flag.key == "runs" ? std::vector<std::string>{flag.text} : split_at_commas(flag.text);
}

// A formula is a value of the axis of schemes.
std::string axis_of_flag(const std::string& key) {
  return is_shorthand(key) ? "position" : axis_key(key);
}

// Keeps the last of repeated flags.
void keep_last(std::vector<Assignment>& flags) {
  std::vector<Assignment> kept;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    const bool again = std::any_of(
        flags.begin() + static_cast<std::ptrdiff_t>(i) + 1, flags.end(),
        [&](const Assignment& later) { return axis_key(later.key) == axis_key(flags[i].key); });
    if (!again) kept.push_back(flags[i]);
  }
  flags = std::move(kept);
}

}  // namespace

const MatrixAxis* axis_named(const std::vector<MatrixAxis>& axes, const std::string& key) {
  const auto found =
      std::ranges::find_if(axes, [&](const MatrixAxis& axis) { return axis.key == key; });
  return found == axes.end() ? nullptr : &*found;
}

std::size_t combinations_of(const std::vector<MatrixAxis>& axes) {
  std::size_t count = 1;
  for (const MatrixAxis& axis : axes) count = std::min(count * axis.values.size(), kMostRuns + 1);
  return count;
}

std::string name_part(const MatrixAxis& axis, const std::string& label) {
  constexpr std::size_t kMost = 60;  // of a folder's 255, which other axes and an ending share
  const std::string text = readable_part(axis, label);
  // Names of formulas may differ only in characters that are left out here.
  const bool lossy = axis.key == "position" && text != label;
  if (text.size() <= kMost && !lossy) return text;
  return text.substr(0, kMost - 10) + "-" +
         hexadecimal(XXH3_64bits(label.data(), label.size())).substr(0, 8);
}

std::vector<Assignment> apply_flags(const std::vector<Override>& overrides, bool protocol,
                                    std::vector<MatrixAxis>& axes, Problems& problems) {
  std::vector<Assignment> common;
  std::map<std::string, std::vector<MatrixAxis>> named;  // by flags, by the axis's key
  std::vector<Assignment> flags = to_assignments(overrides);
  keep_last(flags);
  for (const Assignment& flag : flags) {
    const std::string key = axis_of_flag(flag.key);
    if (axis_named(axes, key) == nullptr && values_of(flag).size() > 1) {
      axes.push_back({.key = key, .where = flag.where, .values = {}});
    }
  }
  for (const Assignment& flag : flags) {
    MatrixAxis axis{.key = axis_of_flag(flag.key), .where = flag.where, .values = {}};
    if (axis_named(axes, axis.key) == nullptr) {
      common.push_back(flag);
      continue;
    }
    for (const std::string& value : values_of(flag)) {
      Assignment one = flag;
      one.text = value;
      axis.values.push_back({.label = value_label(one.key, value),
                             .assignments = expand_shorthands({one}, problems)});
    }
    named[axis.key].push_back(std::move(axis));
  }
  for (MatrixAxis& axis : axes) {
    const auto flags = named.find(axis.key);
    if (flags == named.end()) continue;
    if (!protocol || axis.values.empty()) {
      replace(axis, flags->second);
    } else {
      for (MatrixAxis& flag : flags->second) widen(axis, std::move(flag));
    }
  }
  return expand_shorthands(common, problems);
}

void shorten_paths(std::vector<MatrixAxis>& axes) {
  for (MatrixAxis& axis : axes) {
    const Key* const key = find_key(axis.key);
    if (key == nullptr || key->type != KeyType::path) continue;
    std::set<std::string> names;
    for (const MatrixValue& value : axis.values) names.insert(folder_name(value.label));
    if (names.size() < axis.values.size() || names.contains("")) continue;
    for (MatrixValue& value : axis.values) value.label = folder_name(value.label);
  }
}

namespace {

// A value of a key in one spelling: 0.001 and 1e-3 are the same.
std::string meaning_of(const MatrixValue& value) {
  if (value.assignments.size() != 1) return value.label;
  const Assignment& assignment = value.assignments.front();
  const Key* const key = find_key(assignment.key);
  if (key == nullptr || key->type == KeyType::path) return value.label;
  Settings settings;
  try {
    key->set(settings, assignment.text, assignment.folder);
    return key->get(settings);
  } catch (const std::exception&) {
    return value.label;  // no value of this key, which is refused elsewhere
  }
}

}  // namespace

void refuse_repeats(const std::vector<MatrixAxis>& axes, Problems& problems) {
  for (const MatrixAxis& axis : axes) {
    std::map<std::string, std::string> seen;  // meaning, label
    for (const MatrixValue& value : axis.values) {
      const std::string meaning = axis.key == "variant" ? value.label : meaning_of(value);
      const auto [first, added] = seen.emplace(meaning, value.label);
      if (added) continue;
      const bool same = first->second == value.label;
      problems.add(axis.where, axis.key,
                   "\"" + value.label + "\" is there twice" +
                       (same ? "" : ", also as \"" + first->second + "\""));
    }
  }
}

void refuse_keys_set_twice(const std::vector<MatrixAxis>& axes,
                           const std::vector<Assignment>& flags, Problems& problems) {
  // True if the axis also sets the key. Reported once for each axis.
  const auto refuse = [&](const Assignment& given, const MatrixAxis& axis) {
    for (const MatrixValue& value : axis.values) {
      for (const Assignment& other : value.assignments) {
        if (!may_mean_the_same(given.key, other.key)) continue;
        problems.add(other.where, other.key, "set twice, also by " + given.where,
                     "a key belongs to one axis of a study, and to no flag beside it");
        return true;
      }
    }
    return false;
  };
  const auto compare = [&](const MatrixAxis& first, const MatrixAxis& second) {
    for (const MatrixValue& value : first.values) {
      for (const Assignment& assignment : value.assignments) {
        if (refuse(assignment, second)) return;
      }
    }
  };
  for (std::size_t i = 0; i < axes.size(); ++i) {
    for (const Assignment& flag : flags) refuse(flag, axes[i]);
    for (std::size_t j = i + 1; j < axes.size(); ++j) compare(axes[i], axes[j]);
  }
}

}  // namespace roformer
