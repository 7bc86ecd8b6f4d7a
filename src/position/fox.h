// Forget gates: the logarithms of gates, their sums, and the gates' initial biases.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace roformer {

// The sum c of ln sigmoid(z) up to each token, in float64 for any type of z: [.., L] -> [.., L].
// `before` [.., 1] is the sum up to the previous token, or undefined. Lin 2025, eq. 5.
at::Tensor summed_log_gates(const at::Tensor& logits, const at::Tensor& before = {});

// b_h = -ln(expm1(1 / t_h)), so that ln sigmoid(b_h) = -1 / t_h, with t from the shortest to the
// longest time in equal steps of the logarithm.
std::vector<double> forget_gate_biases(std::int64_t heads, double shortest, double longest);

}  // namespace roformer
