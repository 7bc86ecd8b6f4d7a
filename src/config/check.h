// Checks several keys together for contradictions that no single value shows. Each message says
// which settings conflict and how to resolve the conflict.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "config/problems.h"
#include "config/settings.h"

namespace roformer {

// Maps a key to the place that set it; a missing key has its default.
using SourceLocations = std::map<std::string, SourceLocation>;

// Reports conflicts of settings at the key that the user set.
class Contradictions {
 public:
  // `wrong`: keys whose value has already been refused.
  Contradictions(const SourceLocations& locations, const std::set<std::string>& wrong,
                 Problems& problems)
      : locations_(locations), wrong_(wrong), problems_(problems) {}

  // Reports that `keys` contradict each other, at the first of them that the user set. Reports
  // nothing if the value of one of them was refused, because its default proves nothing.
  void add(const std::vector<std::string>& keys, std::string message, std::string hint = "") const;

 private:
  const SourceLocations& locations_;
  const std::set<std::string>& wrong_;
  Problems& problems_;
};

// `wrong`: keys whose value has already been refused and that now hold their default.
void check(const Settings& settings, const SourceLocations& locations,
           const std::set<std::string>& wrong, Problems& problems);

// Whether the name can be the name of one folder inside another.
bool is_folder_name(const std::string& name);

}  // namespace roformer
