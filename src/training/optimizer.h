// The optimiser over the flat parameter buffers: gradient norm, clipping, loss normalisation, the
// check for non-finite numbers and the update. AdamW takes two passes over memory. With
// training.optimizer muon, the matrices inside the layers are trained by Muon (muon.h) and the
// other parameters by AdamW. On a GPU, norm and decision stay on the device, so that the host does
// not wait for it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "config/training_settings.h"
#include "tensor/parameters.h"
#include "tensor/safetensors.h"
#include "training/distributed/processes.h"
#include "training/flat_parts.h"
#include "training/muon.h"

namespace roformer {

struct OptimizerOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;  // decoupled; only for ranges that decay
  double layer_decay = 1;      // factor of the learning rate per layer below the deepest range
  std::optional<MuonOptions> muon = {};  // of the matrices inside the layers
};
OptimizerOptions optimizer_options(const TrainingSettings& settings);
// The numbers of the parameters that Muon trains under these settings.
std::int64_t numbers_of_muon(const TrainingSettings& settings, const ParameterStore& parameters);

struct OptimizerStep {
  double learning_rate = 0;
  double targets = 1;  // the gradient is of a loss summed over this many targets
  double clip = 0;     // largest norm of the mean gradient; 0: no clipping
  at::Tensor loss;     // scalar on the parameters' device; a non-finite loss skips the step
};

struct OptimizerOutcome {
  at::Tensor gradient_norm;  // [] double, of the mean gradient before clipping
  at::Tensor skipped;        // [] bool: loss or gradient was not finite, nothing was updated
};

// The moments of all trained numbers.
struct Moments {
  at::Tensor first;   // [trained numbers], laid out as flat_values(); of matrices Muon's momentum
  at::Tensor second;  // [numbers that AdamW trains], in the same order
  // The same by parameter, as a checkpoint stores them: first_moment.NAME and second_moment.NAME,
  // of Muon's matrices momentum.NAME. They share the memory of the two.
  std::vector<NamedTensor> named;
};
inline constexpr const char* kMomentumPrefix = "momentum.";

class Optimizer {
 public:
  // The parameters must be flat and must outlive the optimiser. With `in_parts`, which must also
  // outlive it, each process keeps and updates one part and gets the other parts after each step.
  // All processes then make the same calls.
  // To make a matrix orthogonal, Muon needs the whole of it: then the processes also send each
  // other the updates of their parts, and a matrix on the border of two parts is computed by both.
  Optimizer(ParameterStore& parameters, const OptimizerOptions& options,
            Processes* in_parts = nullptr);

  // One update from the flat gradient (this process's part of it), which is zero afterwards.
  OptimizerOutcome step(const OptimizerStep& step);

  // The number of updates, without skipped ones. Waits for the device.
  std::int64_t updates() const;
  void restore_updates(std::int64_t updates);

  // The moments of all parts. If the optimiser is in parts, only the first process gets them.
  Moments moments() const;
  // Tensors for reading stored moments, on the same processes.
  Moments room_for_moments() const;
  // Takes the moments that the first process has read into those tensors.
  void restore_moments(const Moments& moments, Processes& processes);

  // False if a parameter or a moment is infinite or NaN, since no update can repair it. Waits for
  // the device. All processes get the same answer.
  bool is_finite() const;

 private:
  // A contiguous piece of the flat buffers with one rule of update.
  struct Piece {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    bool is_matrices = false;  // Muon trains it
    bool decay = true;
    double rate_share = 1;    // from layer_decay
    std::int64_t second = 0;  // where its second moments begin; none of matrices
  };

  ParameterStore& parameters_;
  OptimizerOptions options_;
  MuonMatrices matrices_;
  Processes* processes_ = nullptr;  // set if the optimiser is in parts
  std::optional<FlatParts> parts_;
  std::int64_t begin_ = 0;  // of this process's part of the flat buffers
  std::int64_t end_ = 0;
  std::vector<Piece> all_pieces_;  // of the flat buffers
  std::vector<Piece> pieces_;      // of this process's part
  at::Tensor first_;               // [end - begin]
  at::Tensor second_;              // [numbers of pieces_ that AdamW trains]
  at::Tensor updates_;             // [] float, on the device

  std::vector<Piece> make_pieces() const;
  Moments named(at::Tensor first, at::Tensor second) const;
  double gradient_norm_on_cpu() const;
  void take_other_parts();
  OptimizerOutcome step_on_cpu(const OptimizerStep& step);
  OptimizerOutcome step_by_kernels(const OptimizerStep& step);
  OptimizerOutcome step_composed(const OptimizerStep& step);
  template <typename T>
  void update_on_cpu(const OptimizerStep& step, double gradient_scale);
  template <typename T>
  void adamw_on_cpu(const Piece& piece, const OptimizerStep& step, double gradient_scale);
  // The learning rate of a piece, and what its values are multiplied by.
  double rate_of(const Piece& piece, const OptimizerStep& step) const;
  double decay_of(const Piece& piece, const OptimizerStep& step) const;
};

// The Euclidean norm of a contiguous CPU tensor, summed in double. The order of the sum does not
// depend on the number of threads.
double norm_on_cpu(const at::Tensor& values);

}  // namespace roformer
