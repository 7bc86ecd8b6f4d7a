// Forward and backward passes of batches of equal sizes as graphs of a GPU: recorded once, repeated
// with the numbers of the next batch and the next keys of dropout. A small model's pass is hundreds
// of kernels, which a GPU is through with sooner than the host can prepare them; a graph is one
// launch.
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
  // The objective's work repeats itself; it outlives the graphs.
  PassGraphs(TrainingObjective& objective, gpu::MakeDeviceGraph make);

  // One micro-batch: its gradients are added to the parameters'. The loss's sum, without its graph
  // and as a tensor of its own. The same numbers, by a graph or not.
  at::Tensor pass(const TrainingBatch& batch, const ForwardMode& mode);

  // Gives back all graphs and their memory: batches will have other sizes.
  void forget();

  std::int64_t repeated() const { return repeated_; }  // passes that a graph made
  // Why no more passes are recorded, in words; else empty.
  const std::string& reason() const { return reason_; }

 private:
  struct Recorded {
    std::unique_ptr<TrainingBatch> batch;  // whose memory the graph reads
    std::unique_ptr<GraphRecording> recording;
    std::unique_ptr<gpu::DeviceGraph> graph;
    at::Tensor loss;
  };
  // Batches of one collection of sizes.
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

// Where graphs can be had and help: one process on a GPU with kernels of the program's own, passes
// that repeat their work, training.graphs, and nobody who looks into them. Else null; the log says
// what is missing on a GPU.
std::unique_ptr<PassGraphs> make_pass_graphs(TrainingObjective& objective,
                                             const TrainingSettings& settings,
                                             const Processes* processes = nullptr);

// One micro-batch without a graph: as PassGraphs::pass.
at::Tensor plain_pass(
    TrainingObjective& objective, const TrainingBatch& batch, const ForwardMode& mode,
    const std::function<void()>& forward_done = [] {});

}  // namespace roformer
