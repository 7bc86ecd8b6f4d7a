#include "tensor/kernels.h"

#include "tensor/attention_kernels.h"

namespace roformer::kernels {

// Each is compiled from cpu/tables.h for its instruction set.
namespace baseline {
template <typename T>
KernelTable<T> make_table();
template <typename M, typename T>
AttentionKernels<M, T> make_attention_kernels();
}  // namespace baseline
#if defined(__x86_64__)
namespace avx2 {
template <typename T>
KernelTable<T> make_table();
template <typename M, typename T>
AttentionKernels<M, T> make_attention_kernels();
}  // namespace avx2
namespace avx512 {
template <typename T>
KernelTable<T> make_table();
template <typename M, typename T>
AttentionKernels<M, T> make_attention_kernels();
}  // namespace avx512
#endif

namespace {

enum class Set { baseline, avx2, avx512 };

Set best_set() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return Set::avx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Set::avx2;
#endif
  return Set::baseline;
}

const Set kSet = best_set();

}  // namespace

template <typename T>
const KernelTable<T>& table() {
  static const KernelTable<T> chosen = [] {
#if defined(__x86_64__)
    if (kSet == Set::avx512) return avx512::make_table<T>();
    if (kSet == Set::avx2) return avx2::make_table<T>();
#endif
    return baseline::make_table<T>();
  }();
  return chosen;
}
template const KernelTable<float>& table<float>();
template const KernelTable<double>& table<double>();
template const KernelTable<c10::BFloat16>& table<c10::BFloat16>();

template <typename M, typename T>
const AttentionKernels<M, T>& attention_kernels() {
  static const AttentionKernels<M, T> chosen = [] {
#if defined(__x86_64__)
    if (kSet == Set::avx512) return avx512::make_attention_kernels<M, T>();
    if (kSet == Set::avx2) return avx2::make_attention_kernels<M, T>();
#endif
    return baseline::make_attention_kernels<M, T>();
  }();
  return chosen;
}
template const AttentionKernels<float, float>& attention_kernels<float, float>();
template const AttentionKernels<double, double>& attention_kernels<double, double>();
template const AttentionKernels<c10::BFloat16, c10::BFloat16>&
attention_kernels<c10::BFloat16, c10::BFloat16>();
template const AttentionKernels<c10::BFloat16, float>& attention_kernels<c10::BFloat16, float>();

const char* instruction_set() {
  switch (kSet) {
    case Set::avx512:
      return "avx512";
    case Set::avx2:
      return "avx2";
    case Set::baseline:
      break;
  }
  return "baseline";
}

}  // namespace roformer::kernels
