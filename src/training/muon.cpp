#include "training/muon.h"

#include <ATen/Parallel.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/linalg_vector_norm.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "base/error.h"
#include "tensor/aten.h"
#include "training/optimizer.h"

namespace roformer {
namespace {

constexpr double kSmallestNorm = 1e-7;  // as torch.optim.Muon

// Numbers of the matrices that are multiplied together: their products take three times as much
// memory for a moment.
constexpr std::int64_t kTogether = std::int64_t{1} << 26;

// sum * beta + alpha * a b, of matrices or of batches of matrices.
at::Tensor added_product(const at::Tensor& sum, double beta, double alpha, const at::Tensor& a,
                         const at::Tensor& b) {
  return sum.dim() == 3 ? at::baddbmm(sum, a, b, beta, alpha) : at::addmm(sum, a, b, beta, alpha);
}

}  // namespace

at::Tensor newton_schulz(const at::Tensor& x, std::int64_t iterations) {
  constexpr double kFirst = 3.4445, kThird = -4.7750, kFifth = 2.0315;
  const bool tall = x.size(-2) > x.size(-1);  // the products of the short side are smaller
  at::Tensor result = tall ? x.transpose(-2, -1).contiguous() : x;
  for (std::int64_t i = 0; i < iterations; ++i) {
    const at::Tensor squares = at::matmul(result, result.transpose(-2, -1));
    const at::Tensor factor = added_product(squares, kThird, kFifth, squares, squares);
    result = added_product(result, kFirst, 1, factor, result);
  }
  return tall ? result.transpose(-2, -1) : result;
}

double muon_factor(MuonScale scale, std::int64_t rows, std::int64_t columns) {
  const auto out = static_cast<double>(rows), in = static_cast<double>(columns);
  return scale == MuonScale::original ? std::sqrt(std::max(1.0, out / in))
                                      : 0.2 * std::sqrt(std::max(out, in));
}

MuonMatrices::MuonMatrices(const ParameterStore& parameters) {
  for (const Parameter& parameter : parameters.all()) {
    if (!parameter.trained || parameter.spec.matrices.empty()) continue;
    ROFORMER_ASSERT(parameter.spec.shape.size() == 2);
    std::int64_t begin = parameters.offset_of(parameter);
    const std::int64_t columns = parameter.spec.shape[1], end = begin + parameter.value.numel();
    for (const std::int64_t rows : parameter.spec.matrices) {
      matrices_.push_back({.begin = begin, .rows = rows, .columns = columns});
      begin = matrices_.back().end();
    }
    ROFORMER_ASSERT(begin == end);
  }
  std::ranges::stable_sort(matrices_, std::greater<>(),
                           [](const Matrix& matrix) { return matrix.rows * matrix.columns; });
}

void MuonMatrices::make_orthogonal(const at::Tensor& updates, const MuonOptions& options,
                                   MuonProducts products, std::int64_t begin,
                                   std::int64_t end) const {
  std::vector<Matrix> chosen;
  std::ranges::copy_if(matrices_, std::back_inserter(chosen), [&](const Matrix& matrix) {
    return matrix.begin < end && matrix.end() > begin;
  });
  if (products == MuonProducts::single) {
    one_by_one(updates, options, chosen);
  } else {
    together(updates, options, chosen);
  }
}

void MuonMatrices::one_by_one(const at::Tensor& updates, const MuonOptions& options,
                              const std::vector<Matrix>& chosen) const {
  const auto count = std::ssize(chosen);
  // Every product runs inside a parallel region, even that of a lone matrix: outside, the library
  // would divide it among the threads and round it in another way than where a process has more
  // matrices.
  const std::int64_t threads = at::get_num_threads();
  at::parallel_for(0, threads, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t thread = first; thread < last; ++thread) {
      for (std::int64_t i = thread; i < count; i += threads) {
        const Matrix& matrix = chosen[static_cast<std::size_t>(i)];
        at::Tensor update = matrix.in(updates);
        const double norm = std::max(norm_on_cpu(update), kSmallestNorm);
        const double factor = muon_factor(options.scale, matrix.rows, matrix.columns);
        update.copy_(newton_schulz(update / norm, options.iterations).mul(factor));
      }
    }
  });
}

void MuonMatrices::together(const at::Tensor& updates, const MuonOptions& options,
                            const std::vector<Matrix>& chosen) const {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<at::Tensor>> of_shape;
  for (const Matrix& matrix : chosen) {
    of_shape[{matrix.rows, matrix.columns}].push_back(matrix.in(updates));
  }
  const at::ScalarType type = updates.scalar_type() == at::kDouble ? at::kDouble : at::kBFloat16;
  for (const auto& [shape, all] : of_shape) {
    const auto [rows, columns] = shape;
    const std::int64_t most = std::max<std::int64_t>(1, kTogether / (rows * columns));
    for (std::int64_t first = 0; first < std::ssize(all); first += most) {
      const std::int64_t count = std::min(most, std::ssize(all) - first);
      const std::vector<at::Tensor> some(all.begin() + first, all.begin() + first + count);
      at::Tensor x = at::empty({count, rows, columns}, updates.options().dtype(type));
      at::_foreach_copy_(x.unbind(0), some);
      x = x / at::linalg_vector_norm(x, 2, {1, 2}, /*keepdim=*/true).clamp_min(kSmallestNorm);
      const at::Tensor result = newton_schulz(x, options.iterations)
                                    .to(updates.scalar_type())
                                    .mul(muon_factor(options.scale, rows, columns));
      at::_foreach_copy_(some, result.unbind(0));
    }
  }
}

}  // namespace roformer
