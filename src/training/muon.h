// Muon (Jordan 2024): the update of a matrix is its sum of gradients, made orthogonal by iterations
// of Newton and Schulz, so that all directions of the matrix move equally far. The optimiser
// (optimizer.h) makes the elementwise passes before and after.
//
// A packed tensor is several matrices: queries, keys and values of a layer, or the two inner
// matrices of a gated feed-forward. Each is made orthogonal separately. Together they would share
// one norm and one set of directions, so the update of the queries would depend on the values, and
// a model that keeps them in separate tensors would train differently.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "config/training_settings.h"
#include "tensor/parameters.h"

namespace roformer {

struct MuonOptions {
  double rate = 1;  // learning rate, as a multiple of AdamW's
  double momentum = 0.95;
  bool nesterov = true;
  std::int64_t iterations = 5;
  MuonScale scale = MuonScale::match_rms_adamw;
};

// x [m, n] or [B, m, n] with Frobenius norms of at most 1 -> the same shape: U f(S) V^T of the
// singular value decomposition x = U S V^T, where f applies the quintic a s + b s^3 + c s^5 with
// (a, b, c) = (3.4445, -4.7750, 2.0315) once per iteration. Five iterations bring all but tiny
// singular values between 0.7 and 1.2. The type of x is that of the products.
at::Tensor newton_schulz(const at::Tensor& x, std::int64_t iterations);

// The factor of an orthogonal update of a matrix [rows, columns].
double muon_factor(MuonScale scale, std::int64_t rows, std::int64_t columns);

// How the products are made. One matrix after another in the parameters' type, in as many threads
// as there are, one thread a matrix, so that a matrix becomes the same in whichever process. Or
// matrices of one shape together, in bfloat16 (double stays double), as GPUs want it.
enum class MuonProducts { single, batched };

// The matrices that Muon trains among the parameters of a store.
class MuonMatrices {
 public:
  explicit MuonMatrices(const ParameterStore& parameters);

  bool empty() const { return matrices_.empty(); }
  // updates: a flat buffer laid out as flat_values(). Makes each matrix in it that has numbers in
  // [begin, end) orthogonal, and multiplies it by its factor.
  void make_orthogonal(const at::Tensor& updates, const MuonOptions& options, MuonProducts products,
                       std::int64_t begin, std::int64_t end) const;

 private:
  struct Matrix {
    std::int64_t begin = 0;  // in the flat buffers
    std::int64_t rows = 0, columns = 0;

    std::int64_t end() const { return begin + rows * columns; }
    at::Tensor in(const at::Tensor& flat) const {
      return flat.narrow(0, begin, rows * columns).view({rows, columns});
    }
  };
  std::vector<Matrix> matrices_;  // from the largest to the smallest

  void one_by_one(const at::Tensor& updates, const MuonOptions& options,
                  const std::vector<Matrix>& chosen) const;
  void together(const at::Tensor& updates, const MuonOptions& options,
                const std::vector<Matrix>& chosen) const;
};

}  // namespace roformer
