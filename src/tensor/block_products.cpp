#include "tensor/block_products.h"

#include "base/error.h"
#include "tensor/device.h"

// What every BLAS calls its products; MKL's has one of bfloat16 besides. LibTorch exports those of
// the BLAS inside it. Column-major, by reference; weak, because not every build has them.
extern "C" {
[[gnu::weak]] void sgemm_(const char* transpose_a, const char* transpose_b, const int* m,
                          const int* n, const int* k, const float* alpha, const float* a,
                          const int* a_column, const float* b, const int* b_column,
                          const float* beta, float* c, const int* c_column);
[[gnu::weak]] void dgemm_(const char* transpose_a, const char* transpose_b, const int* m,
                          const int* n, const int* k, const double* alpha, const double* a,
                          const int* a_column, const double* b, const int* b_column,
                          const double* beta, double* c, const int* c_column);
[[gnu::weak]] void gemm_bf16bf16f32_(const char* transpose_a, const char* transpose_b, const int* m,
                                     const int* n, const int* k, const float* alpha,
                                     const c10::BFloat16* a, const int* a_column,
                                     const c10::BFloat16* b, const int* b_column, const float* beta,
                                     float* c, const int* c_column);
}

namespace roformer {
namespace {

auto function_of(float) {
  return &sgemm_;
}
auto function_of(double) {
  return &dgemm_;
}
auto function_of(c10::BFloat16) {
  return &gemm_bf16bf16f32_;
}

}  // namespace

template <typename T>
void multiply(const BlockProduct<T>& block) {
  using A = kernels::Accumulate<T>;
  const auto function = function_of(T{});
  ROFORMER_ASSERT(function != nullptr);
  // The transposed product in row-major memory is the product in column-major memory.
  const int m = static_cast<int>(block.m), n = static_cast<int>(block.n),
            k = static_cast<int>(block.k);
  const int a_row = static_cast<int>(block.a.row), b_row = static_cast<int>(block.b.row),
            product_row = static_cast<int>(block.product_row);
  const A one = 1, beta = block.add ? A(1) : A(0);
  function(block.b.transposed ? "T" : "N", block.a.transposed ? "T" : "N", &n, &m, &k, &one,
           block.b.data, &b_row, block.a.data, &a_row, &beta, block.product, &product_row);
}
template void multiply<float>(const BlockProduct<float>&);
template void multiply<double>(const BlockProduct<double>&);
template void multiply<c10::BFloat16>(const BlockProduct<c10::BFloat16>&);

bool has_block_products() {
  return &sgemm_ != nullptr && &dgemm_ != nullptr;
}

bool has_bfloat16_block_products() {
  static const bool fast = [] {
    const Bf16Support support = bf16_support();
    return &gemm_bf16bf16f32_ != nullptr && (support.amx || support.avx512_bf16);
  }();
  return fast;
}

}  // namespace roformer
