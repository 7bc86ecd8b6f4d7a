// Checks across keys: contradictions that no single value shows. Each message says in words what
// does not go together and what would.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "config/problems.h"
#include "config/settings.h"

namespace roformer {

// Key to where it was set; a key that is not there has its default.
using SourceLocations = std::map<std::string, SourceLocation>;

// Reports what does not go together in settings, at the key that the user set.
class Contradictions {
 public:
  // `wrong`: keys whose value was refused before.
  Contradictions(const SourceLocations& locations, const std::set<std::string>& wrong,
                 Problems& problems)
      : locations_(locations), wrong_(wrong), problems_(problems) {}

  // `keys` contradict each other: reported at the first of them that the user set. Nothing is
  // reported where one of them had a wrong value, which was refused: its default proves nothing.
  void add(const std::vector<std::string>& keys, std::string message, std::string hint = "") const;

 private:
  const SourceLocations& locations_;
  const std::set<std::string>& wrong_;
  Problems& problems_;
};

// `wrong`: keys whose value was refused before and that have their default here.
void check(const Settings& settings, const SourceLocations& locations,
           const std::set<std::string>& wrong, Problems& problems);

// Whether the name can be that of one folder inside another.
bool is_folder_name(const std::string& name);

}  // namespace roformer
