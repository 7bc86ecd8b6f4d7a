// Forward and backward passes of batches of equal sizes as GPU graphs: recorded once, then replayed
// with the values and dropout keys of the next batch. A small model's pass is hundreds of kernels,
// which a GPU finishes sooner than the host can launch them; a graph is one launch.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/training_settings.h"
#include "tensor/gpu/plugin.h"
#include "tensor/on_device.h"
#include "training/distributed/processes.h"
#include "training/task.h"

namespace roformer {

class PassGraphs {
 public:
  // The objective repeats its work (repeats_its_work()) and outlives the graphs.
  PassGraphs(TrainingObjective& objective, gpu::MakeDeviceGraph make);

  // Adds the gradients of one micro-batch to those of the parameters. Returns the summed loss as a
  // separate tensor without an autograd graph. The numbers are the same with and without a GPU
  // graph.
  at::Tensor pass(const TrainingBatch& batch, const ForwardMode& mode);

  // Frees all graphs and their memory, before batches of other sizes.
  void forget();

  std::int64_t repeated() const { return repeated_; }  // passes made by a graph
  // Why no more passes are recorded, or "".
  const std::string& reason() const { return reason_; }

 private:
  struct Recorded {
    std::unique_ptr<TrainingBatch> batch;  // the graph reads its memory
    std::unique_ptr<GraphRecording> recording;
    std::unique_ptr<gpu::DeviceGraph> graph;
    at::Tensor loss;
  };
  // Batches of equal sizes.
  struct Alike {
    std::int64_t passes = 0;
    std::unique_ptr<Recorded> recorded;
  };

  TrainingObjective& objective_;
  gpu::MakeDeviceGraph make_;
  std::map<std::vector<std::int64_t>, Alike> alike_;
  std::size_t graphs_ = 0;
  std::int64_t repeated_ = 0;
  std::string reason_;

  bool record(Alike& alike, const TrainingBatch& batch, const ForwardMode& mode);
  at::Tensor repeat(Recorded& recorded, const TrainingBatch& batch, std::uint64_t key);
};

// Null if graphs are impossible or do not help. They need training.graphs without check_finite, one
// process on a GPU that runs this program's kernels, and passes that repeat their work. On a GPU
// the log says which condition fails.
std::unique_ptr<PassGraphs> make_pass_graphs(TrainingObjective& objective,
                                             const TrainingSettings& settings,
                                             const Processes* processes = nullptr);

// The same as PassGraphs::pass, without a GPU graph.
at::Tensor plain_pass(
    TrainingObjective& objective, const TrainingBatch& batch, const ForwardMode& mode,
    const std::function<void()>& forward_done = [] {});

}  // namespace roformer
