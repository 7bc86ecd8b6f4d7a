// The cost of the positional schemes: time of an attention layer with its projections and of a
// whole training step, and memory of the layer's tensors. All schemes have their turn in every
// round.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "bench/timing.h"
#include "config/settings.h"
#include "tensor/device.h"

namespace roformer {

struct PositionBenchmarkOptions {
  std::vector<std::string> schemes;
  std::int64_t length = 512;
  std::int64_t sequences = 8;
  std::int64_t repeats = 5;  // rounds that count, after one that does not
  std::int64_t layers = 1;   // attention layers in one pass, sharing what a scheme shares
  bool model = true;         // whole training steps too
  bool plain = false;        // the form that writes every pair out, too
  double memory = std::numeric_limits<double>::infinity();  // bytes that the plain form may take
  // Called before a scheme is built and after each of its turns. true ends the benchmark, and
  // memory is then not measured.
  std::function<bool()> stopped = {};
};

// Medians in milliseconds of one layer or step. Bytes in addition to those before the pass.
// Negative: not measured.
struct PositionCost {
  std::string scheme;
  bool causal = false;
  std::int64_t length = 0;
  double forward = -1;   // no gradient wanted
  double training = -1;  // forward and backward
  double memory = -1;    // most of the tensors' at once, forward and backward, all layers of a pass
  double step = -1;      // of the model
  double plain_forward = -1;
  double plain_training = -1;
  double plain_memory = -1;
  std::string remark;  // why something was not measured
};

// The settings that a scheme needs here: tables with a row for each position, a causal task for
// schemes that only look to the left. `length` and `sequences` become data.length and
// training.batch.
Settings benchmark_settings(const Settings& settings, const std::string& scheme,
                            const PositionBenchmarkOptions& options);

// One entry for every scheme, in their order. `none` comes first, once for encoders and once for
// causal models if the schemes include such. progress() is called when all are ready (done is 0)
// and after every turn.
std::vector<PositionCost> benchmark_positions(const Settings& settings, const ComputePlan& plan,
                                              const PositionBenchmarkOptions& options,
                                              const BenchmarkProgress& progress);

}  // namespace roformer
