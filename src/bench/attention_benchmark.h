// The cost of attention kernels by the length of the text. Measures time and memory of an attention
// layer with its projections, with softmax attention, softmax attention with a window and linear
// attention. Also compares the forms of causal linear attention.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/timing.h"
#include "config/settings.h"
#include "tensor/device.h"

namespace roformer {

// "softmax", "window", "elu", "favor", in the order of a table.
std::vector<std::string> attention_kernels();

struct AttentionBenchmarkOptions {
  std::vector<std::string> kernels;
  std::vector<std::int64_t> lengths;  // rising
  std::int64_t sequences = 1;
  std::int64_t repeats = 5;   // rounds that count, after one that does not
  std::int64_t window = 256;  // tokens that `window` sees
  bool forms = false;         // of causal linear attention, too
  // A kernel is not measured if a pass would probably exceed this time, or its matrices this
  // memory.
  double longest = std::numeric_limits<double>::infinity();  // seconds
  double memory = std::numeric_limits<double>::infinity();   // bytes
  // Called after every measurement; true ends the benchmark.
  std::function<bool()> stopped = {};
};

// Medians in milliseconds. Bytes in addition to those before the pass. Negative: not measured.
struct AttentionCost {
  std::string kernel;
  std::int64_t length = 0;
  double forward = -1;   // no gradient wanted
  double training = -1;  // forward and backward
  double memory = -1;    // most of the tensors' at once, forward and backward
  std::string remark = {};
};

// Causal linear attention (elu) over given features, without projections, measured as
// AttentionCost::training: in chunks as models compute it, not causal (one state for all), and with
// the state after every key written out.
struct LinearFormCost {
  std::int64_t length = 0;
  double chunked = -1;
  double not_causal = -1;
  double cumulative = -1;
  std::string remark = {};
};

struct AttentionBenchmark {
  std::vector<AttentionCost> costs;   // by length, then by kernel
  std::vector<LinearFormCost> forms;  // by length
};

// progress(done, of) is called after every measurement.
AttentionBenchmark benchmark_attention(const Settings& settings, const ComputePlan& plan,
                                       const AttentionBenchmarkOptions& options,
                                       const BenchmarkProgress& progress);

// The length beyond which the kernel's training pass takes less time than the softmax's at every
// measured length, interpolated between two of them (both grow as powers of the length). Empty if
// they do not cross. Lengths below `shortest` do not count.
std::optional<double> crossing_point(const std::vector<AttentionCost>& costs,
                                     std::string_view kernel, std::int64_t shortest = 0);

}  // namespace roformer
