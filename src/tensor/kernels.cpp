#include "tensor/kernels.h"

namespace roformer::kernels {

// Each is compiled from kernels_implementation.h for its instruction set.
namespace baseline {
template <typename T>
KernelTable<T> make_table();
}
#if defined(__x86_64__)
namespace avx2 {
template <typename T>
KernelTable<T> make_table();
}
namespace avx512 {
template <typename T>
KernelTable<T> make_table();
}
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
