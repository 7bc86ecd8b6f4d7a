// Settings of `path`: products of Householder-like matrices between key and query (PaTH, Yang 2025,
// arXiv:2505.16381).
#pragma once

#include <cstdint>

namespace roformer {

struct PathSettings {
  std::int64_t rank = 32;        // of the projection to w; 0: one matrix
  std::int64_t convolution = 3;  // tokens of the short convolution; 0: none
  double epsilon = 1e-6;         // of w's norm
  bool forget_gate = false;      // PaTH-FoX
  bool gate_scaled = true;       // its logarithms times the scores' scale, as the released code
};

}  // namespace roformer
