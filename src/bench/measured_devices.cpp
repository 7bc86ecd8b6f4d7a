#include "bench/measured_devices.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace roformer {
namespace {

constexpr std::string_view kGpuReadme = "src/tensor/gpu/README.md";
constexpr std::string_view kGraphsRecord = "scripts/peers/gpu_h200_graphs.json";
constexpr std::string_view kNotKept = "one measurement, whose record was not kept";

constexpr MeasuredStep kProbe{"3 layers of 128, 64 rows of at most 32", 3.6, 0.818, 128,
                              kGpuReadme};
constexpr MeasuredStep kSmall{"4 layers of 256, 32 rows of 128", 79.37, 1.372, 256, kGpuReadme};

constexpr std::array kH100Steps = {
    kProbe, kSmall, MeasuredStep{"BERT-base, 32 rows of 512", 9187, 26.2, 768, kGpuReadme},
    MeasuredStep{"GPT-2 of 124 M, 32 rows of 1,024", 26240, 67.0, 768, kNotKept},
    MeasuredStep{"GPT-2 of 124 M, 64 rows of 1,024", 52480, 132.1, 768, kNotKept}};

// The two smallest are an H100's: the chip is the same, and there its host decides.
constexpr std::array kH200Steps = {
    kProbe, kSmall, MeasuredStep{"BERT-base, 32 rows of 512", 9187, 24.8, 768, kGraphsRecord},
    MeasuredStep{"BERT-base, 64 rows of 512", 18374, 46.4, 768, kGpuReadme},
    MeasuredStep{"BERT-base, 128 rows of 512", 36747, 88.2, 768, kGpuReadme}};

// The time of exact gradients was measured on the H200. NVLink and a network of 200 Gb/s for each
// card.
constexpr std::array kDevices = {
    MeasuredDevice{"h100", "H100 80GB HBM3", kH100Steps, 29.1 / 24.9, 370e9, 25e9},
    MeasuredDevice{"h200", "H200", kH200Steps, 29.1 / 24.9, 370e9, 25e9}};

constexpr std::int64_t kOfMachine = 8;  // cards

}  // namespace

std::span<const MeasuredDevice> measured_devices() {
  return kDevices;
}

const MeasuredDevice* find_measured_device(std::string_view name) {
  for (const MeasuredDevice& device : kDevices) {
    if (name == device.name || name.find(device.card) != std::string_view::npos) return &device;
  }
  return nullptr;
}

InterpolatedTime interpolated_time(const MeasuredDevice& device, double gflop, double width) {
  const auto above = std::ranges::lower_bound(device.steps, gflop, {}, &MeasuredStep::gflop);
  const MeasuredStep& high = above == device.steps.end() ? device.steps.back() : *above;
  const MeasuredStep& low = above == device.steps.begin() ? device.steps.front() : *(above - 1);
  const double between =
      &low == &high || low.gflop == high.gflop
          ? 0
          : std::clamp(std::log(gflop / low.gflop) / std::log(high.gflop / low.gflop), 0.0, 1.0);
  const auto mixed = [&](double of_low, double of_high) {
    return of_low * std::pow(of_high / of_low, between);
  };
  const double narrow = std::min(1.0, std::sqrt(width / mixed(low.width, high.width)));
  const double rate = mixed(low.gflops_per_second(), high.gflops_per_second()) * narrow;
  // Less work than in the smallest step takes no less time: the host launches as many kernels.
  const double milliseconds = std::max(gflop / rate * 1e3, device.steps.front().milliseconds);
  const auto distance = [](double a, double b) { return std::abs(std::log(a / b)); };
  const bool to_low = distance(gflop, low.gflop) < distance(gflop, high.gflop);
  const MeasuredStep& nearest = to_low ? low : high;
  return {.milliseconds = milliseconds,
          .factor = 1.1 * std::exp(0.15 * distance(gflop, nearest.gflop) +
                                   0.25 * distance(width, nearest.width)),
          .nearest = &nearest};
}

double reduction_milliseconds(const MeasuredDevice& device, double bytes, std::int64_t processes) {
  const auto ring = [bytes](double members, double bandwidth) {
    return members < 2 ? 0 : 2 * (members - 1) / members * bytes / bandwidth * 1e3;
  };
  const std::int64_t machines = (processes + kOfMachine - 1) / kOfMachine;
  return ring(static_cast<double>(std::min(processes, kOfMachine)), device.bandwidth) +
         ring(static_cast<double>(machines), device.network);
}

}  // namespace roformer
