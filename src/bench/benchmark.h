// Times of training steps, reported so that figures of different machines can be compared: with the
// arithmetic of a step, the machine's own ceiling for matrix products and, on request, a profile
// that says where the time goes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/products.h"
#include "config/settings.h"
#include "tensor/device.h"
#include "tensor/profile.h"
#include "training/optimizer.h"
#include "training/pass_graphs.h"
#include "training/task.h"

namespace roformer {

// A part of a step. `calls` counts its operations per step.
struct StepPart {
  std::string name;
  double milliseconds = 0;  // a step
  double share = 0;         // of the step's time
  double calls = 0;
};

struct StepProfile {
  double milliseconds = 0;  // a step, while the profile was made
  // Matrix products, attention, rotations, elementwise work, loss, embeddings, optimiser, copies,
  // other operations, and the time between operations (batches, graph, allocation). The longest
  // comes first; they sum to the step.
  std::vector<StepPart> parts;
  std::vector<StepPart> operations;  // the longest single ones
  // The share of the cores' time in which threads waited, or of the GPU's time in which it had no
  // work.
  double idle_share = 0;
};

StepProfile step_profile(const OperationProfile& profile, std::int64_t steps, std::int64_t threads);

// One step of the trainer.
struct StepTime {
  double milliseconds = 0;
  double loading = 0;        // of these, for making the batch
  std::int64_t targets = 0;  // that carried a loss
};

// The trainer's steps with a clock, on an objective whose batches cost next to nothing.
class TimedTraining {
 public:
  // The settings give optimiser, rate and clipping.
  TimedTraining(std::unique_ptr<TrainingObjective> objective, const Settings& settings);

  // A whole step on the batch of that number: forward, backward, clipping, update, and meanwhile,
  // as the trainer's prefetcher does, the next batch.
  StepTime step(std::int64_t number);

  const ParameterStore& parameters() const { return objective_->parameters(); }

 private:
  std::unique_ptr<TrainingObjective> objective_;
  TrainingSettings settings_;
  Optimizer optimizer_;
  std::unique_ptr<PassGraphs> graphs_;
  // The number of the next batch, and the batch.
  std::pair<std::int64_t, std::unique_ptr<TrainingBatch>> next_;
};

struct StepBenchmark {
  std::int64_t parameters = 0;
  std::int64_t tokens = 0;       // of a step, padding not counted
  std::int64_t examples = 0;     // sequences of a step
  double step_milliseconds = 0;  // median
  double best_milliseconds = 0;
  double tokens_per_second = 0;  // of the median
  double examples_per_second = 0;
  double gflop = 0;  // matrix products of a step
  double gflops_per_second = 0;
  double ceiling_gflops_per_second = 0;  // of square products in the same precision
  double matmul_share = 0;               // of the ceiling
  double own_gflops_per_second = 0;      // of the step's own products, each by itself
  double own_share = 0;                  // of that
  double loader_share = 0;               // time of making the step's batch over the step's
  std::int64_t peak_memory_mib = 0;      // of the process
  std::int64_t gpu_memory_mib = 0;       // the most of tensors on a GPU; 0: none was used
  std::optional<StepProfile> profile;    // set if a profile was requested
};

struct BenchmarkRounds {
  std::int64_t measured = 10;
  std::int64_t warmup = 3;  // before them, not counted
  // The device to profile. Recording costs some microseconds for each operation.
  std::optional<c10::Device> profile = {};
  std::string trace = "";  // of a profile on a GPU: the file (tensor/profile.h)
};

struct RoundTimes {
  std::vector<StepTime> measured;
  std::map<ProductShape, std::int64_t> products;  // of one more round
  std::optional<StepProfile> profile;             // `milliseconds` and the rest of a step
};
// Calls round(number) for the warm-up and measured rounds and for one more. Each makes `steps`
// steps and returns the mean of their times.
RoundTimes time_rounds(const BenchmarkRounds& rounds, std::int64_t steps,
                       const std::function<StepTime(std::int64_t number)>& round);

// Computes the figures above from the times of single steps.
struct StepWork {
  std::int64_t parameters = 0;
  std::int64_t tokens = 0;
  std::int64_t examples = 0;
  double gflop = 0;
};
StepBenchmark step_benchmark(const RoundTimes& times, const StepWork& work,
                             const ComputePlan& plan);

}  // namespace roformer
