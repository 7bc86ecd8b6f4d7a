// Speed of training steps, measured so that figures of different machines can be compared: beside
// the times stand the arithmetic of a step and the machine's own ceiling for matrix products.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "bench/own_products.h"
#include "bench/step_profile.h"
#include "bench/timed_training.h"
#include "config/settings.h"
#include "tensor/device.h"

namespace roformer {

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
  std::optional<StepProfile> profile;    // where one was asked for
};

struct BenchmarkRounds {
  std::int64_t measured = 10;
  std::int64_t warmup = 3;  // before them, not counted
  // Whose time is told part by part, of those measured; recording it costs some microseconds an
  // operation.
  std::optional<c10::Device> profile = {};
  std::string trace = "";  // of a profile on a GPU: the file (tensor/profile.h)
};

// Full training steps (batch, forward, backward, clipping, AdamW) of settings' model on random
// tokens.
StepBenchmark benchmark_language_model(const Settings& settings, const ComputePlan& plan,
                                       const BenchmarkRounds& rounds);

struct RoundTimes {
  std::vector<StepTime> measured;
  std::map<ProductShape, std::int64_t> products;  // of one more round
  std::optional<StepProfile> profile;             // `milliseconds` and the rest of a step
};
// Calls round(number) for warmup and measured rounds and for one more; each takes `steps` steps and
// returns the mean of their times.
RoundTimes time_rounds(const BenchmarkRounds& rounds, std::int64_t steps,
                       const std::function<StepTime(std::int64_t number)>& round);

// From the times of single steps to the figures above.
struct StepWork {
  std::int64_t parameters = 0;
  std::int64_t tokens = 0;
  std::int64_t examples = 0;
  double gflop = 0;
};
StepBenchmark step_benchmark(const RoundTimes& times, const StepWork& work,
                             const ComputePlan& plan);

// GFLOP/s of square matrix products, large enough for the device to be busy; 0: as its kind needs.
double matmul_ceiling(const ComputePlan& plan, std::int64_t size = 0);

}  // namespace roformer
