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
  // The schemes whose trained weights it can replace them on, separated by blanks.
  std::string_view tried_on = {};
  // Other names in programs and papers, for suggestions, separated by blanks.
  std::string_view also_called = {};
  // For people: the scores, where plain attention has S_ij = q_i.k_j / sqrt(D); the extra cost; the
  // behaviour beyond the training length; the source.
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

// The number of positions that the chosen scheme has: the rows of its table, or as many as its
// factors keep within float's range (xpos); 0: no limit.
std::int64_t maximal_length(const PositionSettings& position);

// The number of positions or distances that have separate trained parameters (rows of a table,
// vectors, buckets). Those beyond the training's longest row keep their initial values. 0: none has
// any.
std::int64_t trained_reach(const PositionSettings& position);
// Whether weights that were trained with one scheme can be used with the other: the same scheme, or
// one that was made for it.
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

// The rows in which a comparison uses all schemes.
struct SchemeUse {
  std::int64_t length = 0;  // tokens
  bool causal = false;
};
// Changes the chosen scheme's options to fit there: tables long enough, causal variants or not.
void fit_to(PositionSettings& position, const SchemeUse& use);

// Writes this length into options that default to the length of the training.
void keep_training_length(PositionSettings& position, std::int64_t length);

// What a run logs about its schemes before it begins: options that have no effect in rows as long
// as the training's longest.
std::vector<std::string> position_remarks(const Settings& settings);

}  // namespace roformer
