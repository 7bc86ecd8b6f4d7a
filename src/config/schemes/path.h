// Settings of `path`: products of Householder-like matrices between key and query (PaTH, Yang 2025,
// arXiv:2505.16381).
#pragma once

#include <cstdint>

namespace roformer {

struct PathSettings {
  std::int64_t rank = 32;        // of the projection to w; 0: one full matrix
  std::int64_t convolution = 3;  // tokens that the short convolution sees; 0: no convolution
  double epsilon = 1e-6;         // in the norm of w
  bool forget_gate = false;      // PaTH-FoX
  // multiply the gates' logarithms by the scores' scale, as the released code does
  bool gate_scaled = true;
};

}  // namespace roformer
