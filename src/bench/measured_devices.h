// Training steps that were measured on devices that one may not have at hand, and the time of
// another step on such a device by interpolation. A step has one pass, forward and backward, of a
// micro-batch, and the update.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace roformer {

struct MeasuredStep {
  std::string_view name;    // "BERT-base, 32 rows of 512"
  double gflop = 0;         // matrix products of the step (step_arithmetic.h)
  double milliseconds = 0;  // in bf16
  double width = 0;         // of the model
  std::string_view record;  // where the measurement is kept

  double gflops_per_second() const { return gflop / milliseconds * 1e3; }
};

struct MeasuredDevice {
  std::string_view name;  // "h100"
  std::string_view card;  // "H100 80GB HBM3": words in the name that the driver gives it
  std::span<const MeasuredStep> steps;  // the smallest first
  double exact_gradient = 1;  // time with training.attention_gradient exact over that with fast
  // Bytes per second between the cards of a machine, and between machines of eight, each way.
  double bandwidth = 0, network = 0;
};
std::span<const MeasuredDevice> measured_devices();
// The device of that name, or with that card if `name` is a driver's; null for any other.
const MeasuredDevice* find_measured_device(std::string_view name);

struct InterpolatedTime {
  double milliseconds = 0;
  double factor = 1;  // the true time is expected between milliseconds / factor and times factor
  const MeasuredStep* nearest = nullptr;
};
// Interpolates the reached FLOP/s between the two nearest steps, both on logarithmic scales, by the
// FLOP of a pass. Beyond the largest step it is that step's; no pass takes less time than the
// smallest step. A model that is narrower
// than the interpolated width reaches less, by the square root of the ratio: norms and activations
// then take more of the time. The factor is 1.1 at a measured step and grows with the distance in
// FLOP (to the power 0.15) and in width (to the power 0.25).
InterpolatedTime interpolated_time(const MeasuredDevice& device, double gflop, double width);

// Milliseconds in which `processes` of such a device add gradients of so many bytes: the ring of
// src/training/distributed/README.md, without overlap with computing. Nobody has measured it.
double reduction_milliseconds(const MeasuredDevice& device, double bytes, std::int64_t processes);

}  // namespace roformer
