// The figure of its validations by which a training ranks its checkpoints.
#pragma once

#include <string>

namespace roformer {

struct Settings;

struct Ranking {
  std::string figure = "loss";
  bool higher_is_better = false;
};
Ranking ranking_of(const Settings& settings);

}  // namespace roformer
