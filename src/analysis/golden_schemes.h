// Translates a golden case into this program's terms: settings, the model's shape, and the scheme's
// parameter for each of the case's parameters. The case files name schemes and options in their own
// way, so the golden_*.cpp files map them, one function for each scheme. A scheme without such a
// function uses the names of the configuration and of checkpoints, so a new scheme needs none.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analysis/golden_file.h"
#include "base/fields.h"
#include "config/attention_settings.h"
#include "config/position_settings.h"
#include "config/schemes/sinusoidal.h"
#include "position/scheme.h"

namespace roformer {

struct GoldenSetup {
  PositionSettings position;
  AttentionSettings attention;
  ModelShape shape;  // of one layer; type set by the caller
  // The scheme's parameter by the case's name. `transposed` if the case multiplies from the other
  // side (x W instead of x W^T).
  struct Link {
    std::string name;  // in the case
    std::string parameter;
    bool transposed = false;
  };
  std::vector<Link> links;
  std::vector<std::string> parameters;  // of the case, used without a link
  // The case gives as inputs the values that the layer's parameters would compute, and gives no
  // parameters.
  bool without_parameters = false;
  double content_scale = 1;  // of x, before what the scheme adds to it
  // For schemes with token inputs: [B, H, Lk, F] from the case's inputs.
  std::function<at::Tensor(const GoldenArrays& inputs)> token_inputs;
  at::Tensor drawn_positions;  // of the keys, [B or 1, Lk], if the case gives them
  // For schemes whose constants the case gives: makes them from the case's tensors.
  std::function<std::unique_ptr<PositionScheme>(const GoldenArrays& parameters)> make;
};

// Throws Error if the case has unknown options.
GoldenSetup golden_setup(const GoldenCase& golden);

// The name that cases give a scheme, and the function that sets up the scheme from the options
// (`config` in index.json). An option that the function does not read is unknown.
struct GoldenScheme {
  std::string name;
  void (*set_up)(const GoldenCase& in, const JsonFields& options, GoldenSetup& out);
};
using GoldenSchemes = std::vector<GoldenScheme>;

GoldenSchemes golden_terms();      // tables, terms added to tokens or scores, gates of tokens
GoldenSchemes golden_rotations();  // rotations of queries and keys, linear attention with them

// The length of a parameter of the case.
std::int64_t rows(const GoldenCase& in, const char* name);
// An unchanged parameter, as a list of numbers.
std::vector<double> constants(const GoldenCase& in, const char* name);
bool has(const GoldenCase& in, const char* name);
RotaryLayout layout(const JsonFields& options, RotaryLayout otherwise = RotaryLayout::interleaved);
SinusoidalLayout sinusoidal_layout(const JsonFields& options);
// The name of a parameter of the only layer.
std::string in_layer(const char* name);

// The sizes of a case that gives the layer's input x and projections of it.
void from_input(const GoldenCase& in, const JsonFields& options, GoldenSetup& out);

// Checks that the case's slopes are ALiBi's own, since schemes that contain slopes accept no
// others.
void alibi_slopes_of_case(const GoldenCase& in, std::int64_t heads, GoldenSetup& out);

}  // namespace roformer
