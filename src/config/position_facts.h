// What a positional scheme can and cannot do, as far as a configuration must know before anything
// is built. The registry of position/ reads its capabilities from this table, so that a check of
// the configuration and the running program cannot disagree.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/position_settings.h"

namespace roformer {

struct PositionFacts {
  std::string_view name;    // value of position.scheme and name of its section
  std::string_view family;  // "absolute", "relative", "bias", "rotary", "none"
  bool causal_only = false;
  bool linear_attention = false;  // acts on the embedding or turns q and k, nothing else
  bool shift_invariant = true;    // only distances matter
  bool rotary = false;            // turns pairs of features: the turned width must be even
  // For people: what it adds to plain attention S_ij = q_i.k_j / sqrt(D), what that costs beside
  // it, what happens beyond the training length, and where it comes from.
  std::string_view formula;
  std::string_view cost;
  std::string_view longer;
  std::string_view paper;
};

// In the order of the registry.
std::span<const PositionFacts> position_facts();
// nullptr for an unknown name.
const PositionFacts* find_position_facts(std::string_view name);
std::vector<std::string> position_names();

// The number of positions that the chosen scheme has: the rows of its table, or what its factors
// leave within float's range (xpos); 0: no limit.
std::int64_t maximal_length(const PositionSettings& position);

}  // namespace roformer
