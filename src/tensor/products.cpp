#include "tensor/products.h"

#include <ATen/native/CPUBlas.h>

#include <utility>

#include "base/error.h"
#include "tensor/aten.h"
#include "tensor/device.h"
#include "tensor/dispatch.h"
#include "tensor/profile.h"

// The matrix products of every BLAS, and MKL's for bfloat16, which LibTorch exports from the BLAS
// inside it. They are column-major and take arguments by reference. They are weak symbols, because
// not every build has them.
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

void multiply(const TileProduct& tile) {
  at::native::cpublas::brgemm(tile.m, tile.n, tile.k, tile.a_row, tile.b_row, tile.product_row,
                              tile.add, tile.a, tile.b, tile.product);
}

bool has_tile_products() {
  static const bool has =
      bf16_support().amx && at::native::cpublas::could_pack(at::ScalarType::BFloat16);
  return has;
}

void release_tiles() {
  if (has_tile_products()) at::native::cpublas::brgemm_release();
}

namespace {

bool has_rows(const at::Tensor& x) {
  return x.dim() == 2 && x.stride(1) == 1 && x.stride(0) >= x.size(1);
}

}  // namespace

void add_transposed_product(const at::Tensor& total, const at::Tensor& a, const at::Tensor& b) {
  if (total.scalar_type() == a.scalar_type()) {
    total.addmm_(a.t(), b);
    return;
  }
  if (total.is_cuda() && total.scalar_type() == at::kFloat) {
    // cuBLAS adds in float, without rounding the product first.
    at::Tensor sum = total;
    const std::int64_t whole = a.size(0) / kRowsTogether * kRowsTogether;
    for (const auto& [begin, size] :
         {std::pair{std::int64_t{0}, whole}, {whole, a.size(0) - whole}}) {
      if (size == 0) continue;
      at::addmm_out(sum, total, a.narrow(0, begin, size).t(), b.narrow(0, begin, size), at::kFloat);
    }
    return;
  }
  const bool direct = total.scalar_type() == at::kFloat && a.scalar_type() == at::kBFloat16 &&
                      runs_loops(total) && has_bfloat16_block_products() && a.numel() > 0 &&
                      b.numel() > 0 && has_rows(total) && has_rows(a) && has_rows(b);
  if (!direct) {
    total.add_(at::mm(a.t(), b));
    return;
  }
  const OperationScope scope("products/sum");
  multiply<c10::BFloat16>(
      {.m = a.size(1),
       .n = b.size(1),
       .k = a.size(0),
       .a = {.data = a.const_data_ptr<c10::BFloat16>(), .row = a.stride(0), .transposed = true},
       .b = {.data = b.const_data_ptr<c10::BFloat16>(), .row = b.stride(0)},
       .product = total.mutable_data_ptr<float>(),
       .product_row = total.stride(0),
       .add = true});
}

}  // namespace roformer
