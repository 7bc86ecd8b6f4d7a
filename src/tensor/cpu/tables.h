// The loops of kernels.h and attention_kernels.h, included once for each instruction set by a file
// that defines ROFORMER_KERNELS_NAMESPACE. The compiler must vectorise every inner loop.
#pragma once

#define ROFORMER_INLINE [[gnu::always_inline]] inline

#include "tensor/cpu/attention_loops.h"
#if defined(__AVX512F__)
#include "tensor/cpu/panel_loops.h"
#endif
#include "tensor/cpu/relative_loops.h"
#include "tensor/cpu/row_loops.h"
#include "tensor/cpu/score_loops.h"
#include "tensor/cpu/score_network_loops.h"
#include "tensor/cpu/vocabulary_loops.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

template <typename T>
KernelTable<T> row_kernels() {
  return {.bias_activation_forward = bias_activation_forward<T>,
          .bias_activation_backward = bias_activation_backward<T>,
          .gated_activation_forward = gated_activation_forward<T>,
          .gated_activation_backward = gated_activation_backward<T>,
          .residual_norm_forward = residual_norm_forward<T>,
          .residual_norm_backward = residual_norm_backward<T>,
          .rotate = rotate<T>,
          .cross_entropy_row = cross_entropy_row<T>,
          .row_tops = row_tops<T>,
          .column_sums = column_sums<T>,
          .running_sums = running_sums<Accumulate<T>>,
          .exponential_features = exponential_features<Accumulate<T>>,
          .exponential_features_backward = exponential_features_backward<Accumulate<T>>,
          .elu_features = elu_features<Accumulate<T>>,
          .attend_few = attend_few<T>};
}

template <typename M, typename T>
AttentionKernels<M, T> attention_kernels_of() {
  return {.gather = move_rows<M, T>,
          .scatter = move_rows<Accumulate<T>, M>,
          .softmax = softmax<T>,
          .slope = slope<T>,
          .add_relative = add_relative<T>,
          .sum_relative = sum_relative<T>,
          .row_products = row_products<M, T>};
}

template <typename A>
ScoreKernels<A> score_kernels_of() {
  return {.softmax_rows = softmax_rows<A>,
          .break_sticks = break_sticks<A>,
          .stick_slopes = stick_slopes<A>,
          .add_contextual = add_contextual<A>,
          .contextual_slopes = contextual_slopes<A>,
          .score_network = score_network<A>,
          .score_network_slopes = score_network_slopes<A>};
}

// For processors with AMX, which have AVX-512.
inline PanelKernels panel_kernels_of_set() {
#if defined(__AVX512F__)
  return {.copy = copy_rows,
          .pair_rows = pair_rows,
          .pair_columns = pair_columns,
          .transpose = transpose,
          .transpose_sums = transpose_sums};
#else
  return {};
#endif
}

KernelSet make_kernels() {
  using Bfloat16 = c10::BFloat16;
  return {row_kernels<float>(),
          row_kernels<double>(),
          row_kernels<Bfloat16>(),
          attention_kernels_of<float, float>(),
          attention_kernels_of<double, double>(),
          attention_kernels_of<Bfloat16, Bfloat16>(),
          attention_kernels_of<Bfloat16, float>(),
          score_kernels_of<float>(),
          score_kernels_of<double>(),
          panel_kernels_of_set()};
}

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE

#undef ROFORMER_INLINE
#undef ROFORMER_INLINED
