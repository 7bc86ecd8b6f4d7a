// Reads golden cases of positional schemes: inputs, parameters and the results that a scheme's
// published definition gives for them, in float64. The specification beside them
// (tests/position/golden) defines the format in section 15. golden_case.h runs them.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace roformer {

struct GoldenTolerance {
  double relative = 0;
  double absolute = 0;
};

struct GoldenIndex {
  GoldenTolerance float64, float32, gradient_float64, gradient_float32;
  std::vector<std::filesystem::path> files;
};

using GoldenArrays = std::map<std::string, at::Tensor>;  // float64

struct GoldenCase {
  std::string name;
  std::string scheme;
  nlohmann::json config;
  GoldenArrays inputs, parameters, expected;
  GoldenArrays gradients;  // with "G", the gradient of the output
  at::Tensor mask;         // bool; undefined: all visible
};

// index.json of a folder; throws Error naming the file and what is wrong in it.
GoldenIndex read_golden_index(const std::filesystem::path& folder);
GoldenCase read_golden_case(const std::filesystem::path& file);

}  // namespace roformer
