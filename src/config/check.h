// Checks across keys: contradictions that no single value shows. Each message says in words what
// does not go together and what would.
#pragma once

#include <map>
#include <set>
#include <string>

#include "config/problems.h"
#include "config/settings.h"

namespace roformer {

// Key to the place that set it; a key that is not there has its default.
using Places = std::map<std::string, std::string>;

// `wrong`: keys whose value was refused before; they have their default here, and what would
// contradict it is not reported.
void check(const Settings& settings, const Places& places, const std::set<std::string>& wrong,
           Problems& problems);

// Width of the rotated part of a head for the chosen rotary scheme: features (may be odd, which
// check() refuses).
std::int64_t rotary_width(const Settings& settings);
// Features of linear attention: the head's width for elu, attention.features or D ln D for favor.
std::int64_t linear_features(const Settings& settings);

}  // namespace roformer
