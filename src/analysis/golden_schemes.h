// How the cases of each scheme are read: a function a scheme, in one file a family. For this folder
// only; golden_setup.h is what others use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/golden_file.h"
#include "analysis/golden_setup.h"
#include "base/fields.h"
#include "config/schemes/rope.h"
#include "config/schemes/sinusoidal.h"

namespace roformer {

// The name that cases give a scheme, and the function that sets one up from the options (`config`
// in index.json); an option that it does not ask for is unknown.
struct GoldenScheme {
  std::string name;
  void (*set_up)(const GoldenCase& in, const JsonFields& options, GoldenSetup& out);
};
using GoldenSchemes = std::vector<GoldenScheme>;

GoldenSchemes golden_terms();      // tables, and terms that are added to tokens or scores
GoldenSchemes golden_rotations();  // rotations of queries and keys, linear attention with them
GoldenSchemes golden_gates();      // what depends on the tokens themselves

// The length of a parameter of the case.
std::int64_t rows(const GoldenCase& in, const char* name);
// A parameter that stays as it is, as a list of numbers.
std::vector<double> constants(const GoldenCase& in, const char* name);
bool has(const GoldenCase& in, const char* name);
RotaryLayout layout(const JsonFields& options, RotaryLayout otherwise = RotaryLayout::interleaved);
SinusoidalLayout sinusoidal_layout(const JsonFields& options);
// The name of a parameter of the only layer.
std::string in_layer(const char* name);

// The sizes of a case that gives the layer's input x and projections of it.
void from_input(const GoldenCase& in, const JsonFields& options, GoldenSetup& out);

// Constants that must be ALiBi's own, which schemes that have them do not take from outside.
void alibi_slopes_of_case(const GoldenCase& in, std::int64_t heads, GoldenSetup& out);

}  // namespace roformer
