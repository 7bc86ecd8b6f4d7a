#include "bench/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "bench/estimate_data.h"
#include "bench/estimate_passes.h"
#include "bench/estimate_time.h"
#include "bench/measured_devices.h"
#include "training/schedule.h"

namespace roformer {
namespace {

ComputePlan plan_of(const Settings& settings, const MeasuredDevice* device,
                    const EstimateRequest& request) {
  if (device == nullptr) {
    return plan_compute(request.device == "cpu" ? DeviceKind::cpu : settings.device,
                        settings.training.precision, settings.model.width);
  }
  const bool wide = settings.training.precision == Precision::fp32;
  return {.device = c10::Device(c10::kCUDA, 0),
          .precision = wide ? Precision::fp32 : Precision::bf16};
}

// The measured device of the request or of this machine; null: a CPU or an unknown card.
const MeasuredDevice* device_of(const Settings& settings, const EstimateRequest& request) {
  if (!request.device.empty()) return find_measured_device(request.device);
  if (settings.device == DeviceKind::cpu || !gpu_support().usable) return nullptr;
  return find_measured_device(device_name(c10::Device(c10::kCUDA, 0)));
}

// Steps of a training without stages; by minutes only with the time of a step.
double steps_of(const OpenedEstimate& opened, const EstimatedPass& pass, const AssumedData& size,
                const MeanBatch& batch) {
  const Period& period = opened.settings.training.steps;
  const double of_step = static_cast<double>(opened.settings.training.accumulation);
  BatchMeasure measure{.tokens_per_batch = batch.tokens * static_cast<double>(pass.sharing.parts),
                       .batches_per_step = of_step};
  if (opened.task) {
    measure.batches_per_epoch = opened.task->batches_per_epoch();
    measure.tokens_per_batch = opened.task->tokens_per_batch();
  } else {
    measure.batches_per_epoch =
        size.examples / (batch.texts * static_cast<double>(pass.sharing.parts));
    if (period.unit == Period::Unit::epochs && size.examples == 0) {
      throw_usage("--examples",
                  fmt::format("training.steps is {}, and the data are not there to count",
                              to_string(period)),
                  "--examples 10000");
    }
  }
  if (period.unit == Period::Unit::minutes) return 0;
  return std::ceil(steps_in(period, measure));
}

}  // namespace

double TrainingEstimate::steps() const {
  double sum = 0;
  for (const EstimatedStage& stage : stages) sum += stage.steps;
  return sum;
}

double TrainingEstimate::tokens() const {
  double sum = 0;
  for (const EstimatedStage& stage : stages) sum += stage.steps * stage.tokens;
  return sum;
}

double TrainingEstimate::gflop() const {
  double sum = 0;
  for (const EstimatedStage& stage : stages) sum += stage.steps * stage.gflop;
  return sum;
}

const MemoryEstimate& TrainingEstimate::memory() const {
  return std::ranges::max_element(stages, {},
                                  [](const EstimatedStage& stage) { return stage.memory.total(); })
      ->memory;
}

TrainingEstimate estimate_training(const Settings& given, const EstimateRequest& request) {
  const MeasuredDevice* const device = device_of(given, request);
  if (device == nullptr && !request.device.empty() && request.device != "cpu") {
    throw_usage("--device", "no measured device is called " + request.device, "cpu, h100 or h200");
  }
  OpenedEstimate opened = open_for_estimate(given, request);
  const AssumedData size = opened.task ? AssumedData{} : assumed_size(opened, request);
  const Settings& settings = opened.settings;
  TrainingEstimate estimate{.settings = settings,
                            .plan = plan_of(settings, device, request),
                            .device = device != nullptr ? std::string(device->name) : "cpu",
                            .processes = request.processes,
                            .count = opened.parameters.count,
                            .parameters = opened.parameters.parts};
  if (device == nullptr && !estimate.plan.device.is_cpu()) estimate.device = "cuda";
  const std::int64_t with_scores = layers_with_scores(settings, estimate.plan);
  const std::vector<EstimatedPass> passes = passes_of(settings, request.processes);
  std::vector<MeanBatch> batches;
  for (const EstimatedPass& pass : passes) {
    const MeanBatch batch =
        opened.task ? mean_of_data(opened, pass) : mean_of_assumptions(pass, size);
    batches.push_back(batch);
    const double all = static_cast<double>(request.processes * pass.sharing.passes);
    const bool text = is_labelled(settings) && !needs_all_rows(settings);
    estimate.stages.push_back(
        {.steps = settings.stages.empty() ? steps_of(opened, pass, size, batch) : pass.steps,
         .length = pass.settings.data.length,
         .rows = all * batch.texts,
         .tokens = all * batch.tokens,
         .gflop = all * gflop_of_pass(pass.settings, batch),
         .passes = pass.sharing.passes,
         .memory = estimate_memory(pass.settings, opened.parameters.count, batch.tokens,
                                   estimate.plan, request.processes, opened.parameters.of_muon,
                                   {.targets = text                    ? batch.texts
                                               : is_labelled(settings) ? batch.tokens
                                                                       : batch.targets,
                                    .length = batch.tokens / batch.texts,
                                    .layers_with_scores = with_scores})});
  }
  estimate.checkpoint =
      estimate.memory().weights +
      4 * static_cast<std::uint64_t>(2 * opened.parameters.count - opened.parameters.of_muon) +
      (settings.training.ema > 0 ? estimate.memory().weights : 0);
  estimate.checkpoints = settings.training.keep_last + settings.training.keep_best;

  const double of_first = estimate.stages.front().gflop /
                          static_cast<double>(request.processes * passes.front().sharing.passes);
  std::optional<PassSpeed> speed;
  if (request.measured_steps > 0) {
    speed = measured_speed(opened, passes.front(), batches.front(), of_first, estimate.plan,
                           request.measured_steps);
  } else if (device != nullptr && estimate.plan.precision == Precision::bf16) {
    speed = known_speed(*device, settings, of_first, with_scores);
    const UnmeasuredParts what = unmeasured(settings, with_scores);
    if (!what.words.empty()) {
      estimate.assumptions.push_back(
          fmt::format("Not measured on such a card: {}; it may take {:g} times as many hours.",
                      what.words, what.factor));
    }
  } else {
    estimate.assumptions.push_back(
        device != nullptr
            ? "Hours are unknown in fp32: the measured steps are in bf16."
            : "Hours are unknown without --measure, which times steps on this machine.");
  }
  estimate.assumptions.insert(estimate.assumptions.begin(), opened.assumptions.begin(),
                              opened.assumptions.end());
  if (!speed) return estimate;
  double reducing = 0;
  if (request.processes > 1 && device != nullptr) {
    reducing = reduction_milliseconds(*device, 4.0 * static_cast<double>(estimate.count),
                                      request.processes);
    estimate.assumptions.push_back(
        fmt::format("{} processes, each with a card: gradients take {:.1f} ms a step by NVLink at "
                    "{:.0f} GB/s{}, without overlap. Several cards were never measured.",
                    request.processes, reducing, device->bandwidth * 1e-9,
                    request.processes > 8
                        ? fmt::format(" and {:.0f} GB/s between machines", device->network * 1e-9)
                        : ""));
  } else if (request.processes > 1) {
    estimate.assumptions.push_back(
        fmt::format("{} processes, each on a machine like this one; the network is not counted.",
                    request.processes));
  }
  const Period& period = settings.training.steps;
  if (settings.stages.empty() && period.unit == Period::Unit::minutes) {
    EstimatedStage& only = estimate.stages.front();
    only.steps = 1;
    add_time(estimate, *speed, reducing);
    only.steps = std::floor(period.amount * 60 / only.seconds);
  }
  add_time(estimate, *speed, reducing);
  return estimate;
}

}  // namespace roformer
