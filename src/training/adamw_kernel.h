// The inner loops of the optimiser on a CPU, without tensors: one pass of AdamW, or the two passes
// of Muon, over a contiguous piece of the parameters, and the sum of squares of a piece of the
// gradient. Compiled once per
// instruction set where the compiler can, and chosen when the program starts.
#pragma once

#include <cstdint>

namespace roformer {

// The constants of one step, for one piece (AdamW, Loshchilov and Hutter 2019, algorithm 2, in the
// form of PyTorch: decay before the update, epsilon outside the bias correction).
struct AdamWStep {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double gradient_scale = 1;  // clipping and loss normalisation
  double decay = 1;           // factor of the value: 1 - learning rate * weight decay
  double step_size = 0;       // learning rate / (1 - beta1^t)
  double second_inverse = 1;  // 1 / sqrt(1 - beta2^t)
};

template <typename T>
struct AdamWPiece {
  T* value;
  T* gradient;  // set to zero for the next step
  T* first;     // moments
  T* second;
  std::int64_t size;
};

void adamw_update(const AdamWPiece<float>& piece, const AdamWStep& step);
void adamw_update(const AdamWPiece<double>& piece, const AdamWStep& step);

// Muon's sum of gradients m = momentum m + (1 - momentum) g (Jordan 2024, with the factor of
// torch.optim.Muon), and the matrix to be made orthogonal, which takes the gradient's place: m, or
// with Nesterov's look ahead momentum m + (1 - momentum) g.
struct MuonMomentumStep {
  double momentum = 0.95;
  double gradient_scale = 1;  // clipping and loss normalisation
  bool nesterov = true;
};
template <typename T>
struct MuonPiece {
  T* gradient;
  T* momentum;
  std::int64_t size;
};
void muon_momentum(const MuonPiece<float>& piece, const MuonMomentumStep& step);
void muon_momentum(const MuonPiece<double>& piece, const MuonMomentumStep& step);

// value = value * decay - step_size * update; the update is set to zero, for the next gradient.
template <typename T>
struct MuonDescent {
  T* value;
  T* update;  // in the gradient's place
  std::int64_t size;
  double decay = 1;
  double step_size = 0;
};
void muon_descend(const MuonDescent<float>& piece);
void muon_descend(const MuonDescent<double>& piece);

// Accumulated in double, in an order that depends on the size only.
double sum_of_squares(const float* values, std::int64_t size);
double sum_of_squares(const double* values, std::int64_t size);

}  // namespace roformer
