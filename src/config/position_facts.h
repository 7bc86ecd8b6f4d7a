// The facts about a positional scheme that must be known before a model is built. Each scheme
// defines its own in schemes/NAME.cpp; the registry of position/ and the checks of a configuration
// both read them.
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
  bool linear_attention = false;  // only acts on the embedding or rotates q and k
  bool shift_invariant = true;    // scores depend only on distances
  bool rotary = false;            // rotates pairs of features: the rotated width must be even
  bool cross_attention = false;   // can also rotate a translator's attention to its source
  // The schemes that this scheme can replace on trained weights, separated by blanks.
  std::string_view tried_on = {};
  // Names that programs and papers use for the scheme, for suggestions, separated by blanks.
  std::string_view also_called = {};
  // Texts for people. The formula of the scores, where plain attention has S_ij = q_i.k_j /
  // sqrt(D); the extra cost; the behaviour beyond the training length; the source.
  std::string_view formula;
  std::string_view cost;
  std::string_view longer;
  std::string_view paper;
  // The models that made the scheme known, by the names of their families in interop/, separated
  // by ", ": tests compare whole models with transformers' there. Empty: golden cases alone.
  std::string_view held_against = {};
};

// In the order of the registry.
std::span<const PositionFacts> position_facts();
// Returns nullptr for an unknown name.
const PositionFacts* find_position_facts(std::string_view name);
std::vector<std::string> position_names();

// The number of positions that the chosen scheme has: the rows of its table, or the positions for
// which its factors stay within float's range (xpos); 0: no limit.
std::int64_t maximal_length(const PositionSettings& position);

// The number of positions or distances with separate trained parameters (rows of a table, vectors,
// buckets). Parameters beyond the training's longest row keep their initial values. 0: the scheme
// has no such parameters.
std::int64_t trained_reach(const PositionSettings& position);
// Whether weights that were trained with one scheme work with the other: the same scheme, or one
// that was made for it.
bool may_be_tried_on(std::string_view scheme, std::string_view trained_with);

// The schemes of a model's layers: the chosen scheme in all layers, or the parts of a composite
// scheme (`layers`). Throws InvalidValue if the parts do not fit the number of layers.
struct SchemePart {
  PositionSettings position;
  std::vector<std::int64_t> layers;  // from 0
};
std::vector<SchemePart> scheme_parts(const PositionSettings& position, std::int64_t layers);
// Whether `name` is the chosen scheme or one of its parts.
bool uses_scheme(const PositionSettings& position, std::string_view name);

// The rows on which a comparison uses all schemes.
struct SchemeUse {
  std::int64_t length = 0;  // tokens
  bool causal = false;
};
// Changes the chosen scheme's options to fit these rows: long enough tables, and causal variants or
// not.
void fit_to(PositionSettings& position, const SchemeUse& use);

// Writes this length into options whose default is the training length.
void keep_training_length(PositionSettings& position, std::int64_t length);

// Messages that a run logs about its schemes before it begins: options that have no effect on rows
// as long as the training's longest.
std::vector<std::string> position_remarks(const Settings& settings);

}  // namespace roformer
