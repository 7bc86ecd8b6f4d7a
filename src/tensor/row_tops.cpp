#include "tensor/row_tops.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "tensor/kernels.h"
#include "tensor/parallel.h"

namespace roformer {

RowTops row_tops(at::Tensor& logits, const RowTopsRequest& request) {
  ROFORMER_ASSERT(logits.is_cpu() && logits.scalar_type() == at::kFloat && logits.is_contiguous());
  const std::int64_t rows = logits.size(0), columns = logits.size(1), wanted = request.wanted;
  ROFORMER_ASSERT(wanted >= 1 && wanted <= columns);
  RowTops result{.values = at::empty({rows, wanted}, logits.options()),
                 .ids = at::empty({rows, wanted}, logits.options().dtype(at::kLong)),
                 .normalizers = at::empty({rows}, logits.options())};
  float* const values = logits.mutable_data_ptr<float>();
  float* const normalizers = result.normalizers.mutable_data_ptr<float>();
  const kernels::RowTops<float> work{.logits = values,
                                     .columns = columns,
                                     .wanted = wanted,
                                     .values = result.values.mutable_data_ptr<float>(),
                                     .ids = result.ids.mutable_data_ptr<std::int64_t>(),
                                     .normalizers = normalizers};
  for_rows(rows, columns, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> left_out;
    for (std::int64_t row = begin; row < end; ++row) {
      left_out.clear();
      for (const std::int64_t column : request.excluded) {
        if (column < 0 || column >= columns) continue;
        float& value = values[row * columns + column];
        left_out.push_back(value);
        value = -std::numeric_limits<float>::infinity();
      }
      kernels::table<float>().row_tops(work, row, row + 1);
      if (request.renormalize) continue;
      double sum = normalizers[row];
      for (const float value : left_out) {
        const double larger = std::max<double>(sum, value), smaller = std::min<double>(sum, value);
        sum = larger + std::log1p(std::exp(smaller - larger));
      }
      normalizers[row] = static_cast<float>(sum);
    }
  });
  return result;
}

}  // namespace roformer
