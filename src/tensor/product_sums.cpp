#include "tensor/product_sums.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>

#include <utility>

#include "tensor/block_products.h"
#include "tensor/loops.h"
#include "tensor/operation_profile.h"
#include "tensor/row_counts.h"

namespace roformer {
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
    // cuBLAS adds to the sum what it has in float, without a rounded product in between.
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
