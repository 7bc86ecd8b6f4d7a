#include "tensor/dispatch.h"
#include "tensor/loops.h"
#include "tensor/operations.h"
#include "tensor/parallel.h"

namespace roformer {

at::Tensor column_sums(const at::Tensor& x) {
  const at::ScalarType wide = accumulate_type(x.scalar_type());
  if (!runs_loops(x)) return x.sum(0, false, wide);
  const at::Tensor rows = x.detach().contiguous();
  at::Tensor sums;
  with_type(rows.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    const kernels::ColumnSums<T> work{.rows = rows.const_data_ptr<T>(), .columns = rows.size(1)};
    using A = kernels::Accumulate<T>;
    sums = for_rows_with_sums<A>(rows.size(0), work.columns, 1,
                                 [&](std::int64_t begin, std::int64_t end, A* partial) {
                                   kernels::ColumnSums<T> piece = work;
                                   piece.sums = partial;
                                   kernels::table<T>().column_sums(piece, begin, end);
                                 })[0];
  });
  return sums;
}

}  // namespace roformer
