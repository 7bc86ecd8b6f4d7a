// Golden cases of positional schemes: files that hold inputs, parameters, and what a scheme makes
// of them by its published definition, in float64. The format is section 15 of the specification
// beside them (tests/position/golden). Reading only; golden_case runs them.
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
