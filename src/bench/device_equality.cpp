#include "bench/device_equality.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <memory>
#include <optional>

#include "bench/position_benchmark.h"
#include "bench/random_language.h"
#include "config/task_facts.h"
#include "tensor/dispatch.h"
#include "tensor/operations.h"
#include "training/training_step.h"

namespace roformer {
namespace {

struct Trained {
  std::vector<double> losses;
  std::int64_t graphs = 0;
  std::string without_graphs;
  bool asked_for_graphs = false;
};

Trained train_with(const Settings& settings, const ComputePlan& plan, std::int64_t steps) {
  const std::unique_ptr<TrainingObjective> objective = random_language(settings, plan);
  const std::unique_ptr<PassGraphs> graphs = make_pass_graphs(*objective, settings.training);
  AdamW optimizer(objective->parameters(), {.weight_decay = settings.training.weight_decay});
  objective->parameters().apply_constraints();
  // Texts of another length, as a validation has them: a scheme's tables are made anew for them,
  // and a graph must go on with those that it has recorded.
  constexpr std::int64_t kStepsToAnother = 10;
  Settings twice = settings;
  twice.data.length *= 2;
  const std::unique_ptr<TrainingObjective> longer = random_language(twice, plan);
  Trained result{.asked_for_graphs = graphs != nullptr};
  for (std::int64_t step = 0; step < steps; ++step) {
    if (step % kStepsToAnother == 0) {
      const c10::AutoGradMode no_gradient(false);
      objective->loss_sum(*longer->make_batch(step), {});
    }
    std::vector<std::unique_ptr<TrainingBatch>> batches;
    batches.push_back(objective->make_batch(step));
    const StepResult taken = take_training_step(*objective, optimizer, std::move(batches),
                                                {.step = step,
                                                 .seed = settings.seed,
                                                 .learning_rate = settings.training.learning_rate,
                                                 .clip = settings.training.clip,
                                                 .graphs = graphs.get()});
    result.losses.push_back(taken.sums.loss.item<double>() /
                            static_cast<double>(std::max<std::int64_t>(1, taken.sums.targets)));
  }
  if (graphs != nullptr) {
    result.graphs = graphs->repeated();
    result.without_graphs = graphs->reason();
  }
  return result;
}

// The largest, as a share of the second ones.
double difference_of(const std::vector<double>& losses, const std::vector<double>& from) {
  double largest = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const double share = std::abs(losses[i] - from[i]) / std::max(std::abs(from[i]), 1e-6);
    // Not a number is the worst miss.
    largest =
        std::max(largest, std::isfinite(share) ? share : std::numeric_limits<double>::infinity());
  }
  return largest;
}

SchemeEquality compare_scheme(const Settings& settings, const ComputePlan& plan,
                              std::int64_t steps) {
  SchemeEquality result{.scheme = settings.position.scheme,
                        .causal = task_facts(settings.task).causal,
                        .allowed = allowed_difference(plan.precision)};
  try {
    result.host =
        train_with(settings, {.device = at::kCPU, .precision = plan.precision}, steps).losses;
    std::optional<ComposedForms> composed;
    if (plan.device.is_cpu()) composed.emplace();
    const Trained trained = train_with(settings, plan, steps);
    result.device = trained.losses;
    result.graphs = trained.graphs;
    result.without_graphs = trained.without_graphs;
    if (trained.asked_for_graphs) {
      Settings plain = settings;
      plain.training.graphs = false;
      result.of_graphs = difference_of(trained.losses, train_with(plain, plan, steps).losses);
    }
  } catch (const std::exception& error) {
    const std::string words = error.what();  // of which the first line says what it is
    result.problem = words.substr(0, words.find('\n'));
    return result;
  }
  result.difference = difference_of(result.device, result.host);
  return result;
}

// A kernel's fault makes every later call of the process fail.
bool answers(const ComputePlan& plan) {
  try {
    return at::ones({1}, at::TensorOptions(plan.device)).item<float>() == 1;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

double allowed_difference(Precision precision) {
  return precision == Precision::bf16 ? 0.05 : 0.005;
}

std::vector<SchemeEquality> compare_devices(
    const Settings& settings, const ComputePlan& plan, const DeviceEqualityOptions& options,
    const std::function<void(const SchemeEquality&)>& done) {
  std::vector<SchemeEquality> results;
  for (const std::string& scheme : options.schemes) {
    Settings own = benchmark_settings(
        settings, scheme,
        {.length = 2 * settings.data.length, .sequences = settings.training.batch});
    own.data.length = settings.data.length;  // with tables for twice that
    results.push_back(compare_scheme(own, plan, options.steps));
    const bool faulted = !results.back().problem.empty() && !answers(plan);
    if (faulted) results.back().problem += "; no scheme behind it was run: the device is lost";
    done(results.back());
    if (faulted) break;
  }
  return results;
}

MaskEquality compare_dropout(const ComputePlan& plan) {
  MaskEquality result;
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    for (const double probability : {0.1, 0.5, 0.9}) {
      for (const std::uint64_t key : {std::uint64_t{0}, std::uint64_t{0x8edf00d5c0ffee11}}) {
        const DropoutSpec spec{
            .probability = probability, .key = key, .first_row = std::int64_t{1} << 33};
        const at::Tensor ones = at::ones({301, 257}, type);
        const at::Tensor host = dropout(ones, spec) == 0;
        std::optional<ComposedForms> composed;
        if (plan.device.is_cpu()) composed.emplace();
        const at::Tensor device = dropout(ones.to(plan.device), spec) == 0;
        ++result.masks;
        if (!at::equal(host, device.to(at::kCPU))) ++result.different;
      }
    }
  }
  return result;
}

}  // namespace roformer
