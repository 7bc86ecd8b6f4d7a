// What a forget gate needs beside its scheme: the logarithms of gates, their sums, and the biases
// that gates begin with.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace roformer {

// c of each token, the sum of ln sigmoid(z) up to it, in float64 from whatever z is: [.., L] ->
// [.., L]; `before` [.., 1], the sum up to the token in front, or undefined. Lin 2025, eq. 5.
at::Tensor summed_log_gates(const at::Tensor& logits, const at::Tensor& before = {});

// b_h = -ln(expm1(1 / t_h)), so that ln sigmoid(b_h) = -1 / t_h, with t from the shortest to the
// longest time in equal steps of the logarithm.
std::vector<double> forget_gate_biases(std::int64_t heads, double shortest, double longest);

}  // namespace roformer
