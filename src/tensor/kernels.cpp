#include "tensor/kernels.h"

#include "tensor/attention_kernels.h"

namespace roformer::kernels {

// Each is compiled from cpu/tables.h for its instruction set.
#define ROFORMER_KERNEL_SET(set)                                  \
  namespace set {                                                 \
  template <typename T>                                           \
  KernelTable<T> make_table();                                    \
  template <typename M, typename T>                               \
  AttentionKernels<M, T> make_attention_kernels();                \
  template <typename A>                                           \
  ScoreKernels<A> make_score_kernels();                           \
  PanelKernels make_panel_kernels();                              \
  struct Maker {                                                  \
    static constexpr const char* kName = #set;                    \
    template <typename T>                                         \
    static KernelTable<T> table() {                               \
      return make_table<T>();                                     \
    }                                                             \
    template <typename M, typename T>                             \
    static AttentionKernels<M, T> attention() {                   \
      return make_attention_kernels<M, T>();                      \
    }                                                             \
    template <typename A>                                         \
    static ScoreKernels<A> scores() {                             \
      return make_score_kernels<A>();                             \
    }                                                             \
    static PanelKernels panels() { return make_panel_kernels(); } \
  };                                                              \
  }
ROFORMER_KERNEL_SET(baseline)
#if defined(__x86_64__)
ROFORMER_KERNEL_SET(avx2)
ROFORMER_KERNEL_SET(avx512)
ROFORMER_KERNEL_SET(avx512_bf16)
#endif
#undef ROFORMER_KERNEL_SET

namespace {

// Calls function(maker) with the best instruction set of this processor.
template <typename Function>
auto of_best_set(const Function& function) {
#if defined(__x86_64__)
  // The levels that CMakeLists.txt compiles for, whole: a virtual machine may hide a part of one.
  if (__builtin_cpu_supports("x86-64-v4")) {
    if (__builtin_cpu_supports("avx512bf16")) return function(avx512_bf16::Maker{});
    return function(avx512::Maker{});
  }
  if (__builtin_cpu_supports("x86-64-v3")) return function(avx2::Maker{});
#endif
  return function(baseline::Maker{});
}

}  // namespace

template <typename T>
const KernelTable<T>& table() {
  static const KernelTable<T> chosen =
      of_best_set([](auto maker) { return decltype(maker)::template table<T>(); });
  return chosen;
}
template const KernelTable<float>& table<float>();
template const KernelTable<double>& table<double>();
template const KernelTable<c10::BFloat16>& table<c10::BFloat16>();

template <typename M, typename T>
const AttentionKernels<M, T>& attention_kernels() {
  static const AttentionKernels<M, T> chosen =
      of_best_set([](auto maker) { return decltype(maker)::template attention<M, T>(); });
  return chosen;
}
template const AttentionKernels<float, float>& attention_kernels<float, float>();
template const AttentionKernels<double, double>& attention_kernels<double, double>();
template const AttentionKernels<c10::BFloat16, c10::BFloat16>&
attention_kernels<c10::BFloat16, c10::BFloat16>();
template const AttentionKernels<c10::BFloat16, float>& attention_kernels<c10::BFloat16, float>();

template <typename A>
const ScoreKernels<A>& score_kernels() {
  static const ScoreKernels<A> chosen =
      of_best_set([](auto maker) { return decltype(maker)::template scores<A>(); });
  return chosen;
}
template const ScoreKernels<float>& score_kernels<float>();
template const ScoreKernels<double>& score_kernels<double>();

const PanelKernels& panel_kernels() {
  static const PanelKernels chosen =
      of_best_set([](auto maker) { return decltype(maker)::panels(); });
  return chosen;
}

const char* instruction_set() {
  return of_best_set([](auto maker) { return decltype(maker)::kName; });
}

}  // namespace roformer::kernels
