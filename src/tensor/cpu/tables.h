// The loops behind kernels.h, attention_kernels.h and score_kernels.h, included once per
// instruction set by a file that defines ROFORMER_KERNELS_NAMESPACE; written so that the compiler's
// vectoriser takes every inner loop.
#pragma once

#define ROFORMER_INLINE [[gnu::always_inline]] inline

#include "tensor/cpu/attention_loops.h"
#include "tensor/cpu/panel_loops.h"
#include "tensor/cpu/row_loops.h"
#include "tensor/cpu/score_loops.h"
#include "tensor/cpu/score_network_loops.h"
#include "tensor/cpu/vocabulary_loops.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

template <typename T>
KernelTable<T> make_table() {
  return {
      bias_activation_forward<T>,
      bias_activation_backward<T>,
      gated_activation_forward<T>,
      gated_activation_backward<T>,
      residual_norm_forward<T>,
      residual_norm_backward<T>,
      rotate<T>,
      cross_entropy_row<T>,
      row_tops<T>,
      column_sums<T>,
      running_sums<Accumulate<T>>,
      exponential_features<Accumulate<T>>,
      exponential_features_backward<Accumulate<T>>,
      attend_few<T>,
  };
}
template KernelTable<float> make_table<float>();
template KernelTable<double> make_table<double>();
template KernelTable<c10::BFloat16> make_table<c10::BFloat16>();

template <typename M, typename T>
AttentionKernels<M, T> make_attention_kernels() {
  return {.gather = move_rows<M, T>,
          .scatter = move_rows<Accumulate<T>, M>,
          .softmax = softmax<T>,
          .slope = slope<T>,
          .row_products = row_products<M, T>};
}
template AttentionKernels<float, float> make_attention_kernels<float, float>();
template AttentionKernels<double, double> make_attention_kernels<double, double>();
template AttentionKernels<c10::BFloat16, c10::BFloat16>
make_attention_kernels<c10::BFloat16, c10::BFloat16>();
template AttentionKernels<c10::BFloat16, float> make_attention_kernels<c10::BFloat16, float>();

template <typename A>
ScoreKernels<A> make_score_kernels() {
  return {.softmax_rows = softmax_rows<A>,
          .break_sticks = break_sticks<A>,
          .stick_slopes = stick_slopes<A>,
          .add_contextual = add_contextual<A>,
          .contextual_slopes = contextual_slopes<A>,
          .score_network = score_network<A>,
          .score_network_slopes = score_network_slopes<A>};
}
template ScoreKernels<float> make_score_kernels<float>();
template ScoreKernels<double> make_score_kernels<double>();

PanelKernels make_panel_kernels() {
  return {.copy = copy_rows,
          .pair_rows = pair_rows,
          .pair_columns = pair_columns,
          .transpose = transpose,
          .transpose_sums = transpose_sums};
}

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE

#undef ROFORMER_INLINE
#undef ROFORMER_INLINED
