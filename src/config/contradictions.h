// Reports what does not go together in settings, at the key that the user set.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "config/problems.h"

namespace roformer {

// Key to where it was set; a key that is not there has its default.
using SourceLocations = std::map<std::string, SourceLocation>;

class Contradictions {
 public:
  // `wrong`: keys whose value was refused before.
  Contradictions(const SourceLocations& locations, const std::set<std::string>& wrong,
                 Problems& problems)
      : locations_(locations), wrong_(wrong), problems_(problems) {}

  // `keys` contradict each other: reported where the first of them stands that the user set. A key
  // with a wrong value has been reported already, and its default proves nothing.
  void add(const std::vector<std::string>& keys, std::string message, std::string hint = "") const;

 private:
  const SourceLocations& locations_;
  const std::set<std::string>& wrong_;
  Problems& problems_;
};

}  // namespace roformer
