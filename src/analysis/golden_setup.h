// From a golden case's words to this program's: settings, the model's shape, and which of the
// case's parameters is which of the scheme's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analysis/golden_file.h"
#include "config/attention_settings.h"
#include "config/position_settings.h"
#include "position/scheme.h"

namespace roformer {

struct GoldenSetup {
  PositionSettings position;
  AttentionSettings attention;
  ModelShape shape;  // of one layer; type set by the caller
  // The scheme's parameter by the case's name; `transposed` where the case multiplies from the
  // other side (x W instead of x W^T).
  struct Link {
    std::string name;  // in the case
    std::string parameter;
    bool transposed = false;
  };
  std::vector<Link> links;
  std::vector<std::string> parameters;  // of the case, that no link names and that are used
  // Inputs of the case stand for what a layer's own parameters would make, which it lacks then.
  bool without_parameters = false;
  double content_scale = 1;  // of x, before what the scheme adds to it
  // Of schemes with token inputs: [B, H, Lk, F] from the case's inputs.
  std::function<at::Tensor(const GoldenArrays& inputs)> token_inputs;
  at::Tensor drawn_positions;  // of the keys, [B or 1, Lk], where the case gives them
  // Schemes whose constants the case gives: made of the case's tensors directly.
  std::function<std::unique_ptr<PositionScheme>(const GoldenArrays& parameters)> make;
};

// Throws Error where the case has options that are not known here.
GoldenSetup golden_setup(const GoldenCase& golden);

}  // namespace roformer
