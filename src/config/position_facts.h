// The facts about a positional scheme that must be known before a model is built. The registry of
// position/ and the checks of a configuration read the same ones, those of schemes/NAME.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/position_settings.h"

namespace roformer {

struct Settings;

struct PositionFacts {
  std::string_view name;    // value of position.scheme and name of its section
  std::string_view family;  // "absolute", "relative", "bias", "rotary", "weights", "none"
  bool causal_only = false;
  bool linear_attention = false;  // acts on the embedding or rotates q and k, nothing else
  bool shift_invariant = true;    // only distances matter
  bool rotary = false;            // rotates pairs of features: the rotated width must be even
  bool cross_attention = false;   // may rotate a translator's attention to its source, too
  // The schemes whose trained weights it was made to be tried on; a blank between two.
  std::string_view tried_on = {};
  // What other programs and papers call it, for suggestions; a blank between two.
  std::string_view also_called = {};
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

// How many tokens of a row meet parameters of their own, for their place (rows of a table) or for
// their distance to others (vectors, buckets): in longer rows than any that it was trained in, what
// lies between is as it began. 0: none has such.
std::int64_t trained_reach(const PositionSettings& position);
// Whether weights that were trained with one scheme know what the other does: the same scheme, or
// one that was made to be tried on them.
bool may_be_tried_on(std::string_view scheme, std::string_view trained_with);

// The schemes of a model's layers: the chosen one in all of them, or those that it puts together
// (`layers`). Throws InvalidValue where they do not fit the number of layers.
struct SchemePart {
  PositionSettings position;
  std::vector<std::int64_t> layers;  // from 0
};
std::vector<SchemePart> scheme_parts(const PositionSettings& position, std::int64_t layers);
// Whether it is the chosen scheme or one that the chosen one puts together.
bool uses_scheme(const PositionSettings& position, std::string_view name);

// Where a comparison of all schemes puts them.
struct SchemeUse {
  std::int64_t length = 0;  // tokens
  bool causal = false;
};
// The chosen scheme's options made to serve there: tables long enough, variants that look to the
// sides that there are.
void fit_to(PositionSettings& position, const SchemeUse& use);

// Lengths that default to the length of the training are written down as this one.
void keep_training_length(PositionSettings& position, std::int64_t length);

// What a run logs about its schemes before it begins: options that have no effect in rows as long
// as the training's longest.
std::vector<std::string> position_remarks(const Settings& settings);

}  // namespace roformer
