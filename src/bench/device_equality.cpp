#include "bench/device_equality.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/randn.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "bench/position_benchmark.h"
#include "bench/random_training.h"
#include "config/task_facts.h"
#include "tensor/aten.h"
#include "tensor/dispatch.h"
#include "tensor/operations.h"
#include "tensor/tiled_attention.h"
#include "training/training_step.h"

namespace roformer {
namespace {

// `certain`: nothing, but the first key of each text has nearly all the weight.
enum class Added { nothing, table, window, pairs, certain };

const char* to_word(Added added) {
  constexpr std::array kWords = {"nothing added", "a table", "a window", "numbers for pairs",
                                 "a nearly certain key"};
  return kWords.at(static_cast<std::size_t>(added));
}

// Two texts of several tiles and a rest, whose heads share their keys in pairs.
struct Case {
  static constexpr std::int64_t kHeads = 4, kSharedHeads = 2, kTexts = 2, kLength = 150;
  std::int64_t width = 64;
  bool causal = false;
  Added added = Added::nothing;

  std::string name() const {
    return fmt::format("width {}, {}{}", width, causal ? "causal, " : "", to_word(added));
  }

  // [T, (H + 2G) D]
  at::Tensor rows(const at::Generator& random) const {
    const std::int64_t tokens = kTexts * kLength;
    at::Tensor all = at::randn({tokens, (kHeads + 2 * kSharedHeads) * width}, random);
    if (added == Added::certain) {
      // A score of 11 above the others' leaves them 0.003 of the weight.
      constexpr double kQuery = 4, kScore = 11, kRest = 0.1;
      const at::Tensor query = all.narrow(1, 0, kHeads * width),
                       key = all.narrow(1, kHeads * width, kSharedHeads * width);
      query.mul_(kRest).add_(kQuery);
      key.mul_(kRest);
      for (std::int64_t text = 0; text < kTexts; ++text) {
        key.select(0, text * kLength)
            .fill_(kScore / (kQuery * std::sqrt(static_cast<double>(width))));
      }
    }
    return all.to(at::kBFloat16);
  }

  at::Tensor additive(const at::Generator& random) const {
    if (added == Added::nothing || added == Added::certain) return {};
    constexpr std::int64_t kDifferences = 2 * kLength - 1, kWindow = 40;
    if (added == Added::pairs) return at::randn({kHeads, kLength, kLength}, random);
    at::Tensor table = at::randn({kHeads, kDifferences}, random);
    if (added == Added::window) {
      table.narrow(1, 0, kLength - kWindow).fill_(-std::numeric_limits<double>::infinity());
      table.narrow(1, kLength + kWindow, kLength - kWindow - 1)
          .fill_(-std::numeric_limits<double>::infinity());
    }
    return table;
  }
};

using NamedResults = std::vector<std::pair<const char*, at::Tensor>>;

struct Inputs {
  at::Tensor rows;      // [T, (H + 2G) D] bfloat16
  at::Tensor gradient;  // [T, H D] bfloat16
  at::Tensor additive;  // or undefined

  Inputs on(at::Device device) const {
    return {.rows = rows.to(device),
            .gradient = gradient.to(device),
            .additive = additive.defined() ? additive.to(device) : additive};
  }
};

TiledAttention attention_of(const Case& one, const Inputs& in) {
  const std::int64_t queries = Case::kHeads * one.width, keys = Case::kSharedHeads * one.width;
  TiledAttention attention{.query = in.rows.narrow(1, 0, queries),
                           .key = in.rows.narrow(1, queries, keys),
                           .value = in.rows.narrow(1, queries + keys, keys),
                           .heads = Case::kHeads,
                           .key_value_heads = Case::kSharedHeads,
                           .scale = 1 / std::sqrt(static_cast<double>(one.width)),
                           .causal = one.causal};
  if (in.additive.defined()) attention.additive.push_back(in.additive);
  for (std::int64_t text = 0; text < Case::kTexts; ++text) {
    attention.segments.push_back({.query_begin = text * Case::kLength,
                                  .query_length = Case::kLength,
                                  .key_begin = text * Case::kLength,
                                  .key_length = Case::kLength,
                                  .additive = in.additive.defined() ? 0 : -1});
  }
  return attention;
}

NamedResults results(const Case& one, const Inputs& in) {
  const TiledAttention attention = attention_of(one, in);
  const at::Tensor output = at::empty(in.gradient.sizes(), in.gradient.options());
  const at::Tensor logarithm = tiled_attention_forward(attention, output);
  TiledAttentionGradients into{.query = at::zeros_like(output),
                               .key = at::zeros_like(output),
                               .value = at::zeros_like(output)};
  if (in.additive.defined()) into.additive.push_back(at::zeros_like(in.additive));
  tiled_attention_backward(attention, output, logarithm, in.gradient, into);
  NamedResults all{{"output", output},
                   {"logarithm of the denominators", logarithm},
                   {"gradient of the queries", into.query},
                   {"gradient of the keys", into.key},
                   {"gradient of the values", into.value}};
  if (in.additive.defined()) all.emplace_back("gradient of what is added", into.additive[0]);
  return all;
}

struct Trained {
  std::vector<double> losses;
  std::int64_t graphs = 0;
  std::string without_graphs;
  bool asked_for_graphs = false;
};

Trained train_with(const Settings& settings, const ComputePlan& plan, std::int64_t steps) {
  const std::unique_ptr<TrainingObjective> objective = random_language(settings, plan);
  const std::unique_ptr<PassGraphs> graphs = make_pass_graphs(*objective, settings.training);
  Optimizer optimizer(objective->parameters(), optimizer_options(settings.training));
  objective->parameters().apply_constraints();
  // A validation may have texts of another length: a scheme then makes new tables, and a graph must
  // continue with those that it has recorded.
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

// The largest difference, as a share of `from`.
double difference_of(const std::vector<double>& losses, const std::vector<double>& from) {
  double largest = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const double share = std::abs(losses[i] - from[i]) / std::max(std::abs(from[i]), 1e-6);
    // NaN is the worst miss.
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
    const std::string words = error.what();  // the first line says what is wrong
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

bool AttentionEquality::passed() const {
  return problem.empty() && difference <= kAllowedAttentionDifference;
}

AttentionEquality compare_attention(at::Device device) {
  AttentionEquality equality;
  const at::Generator random = at::detail::createCPUGenerator(1);
  for (const std::int64_t width : {64, 128}) {
    const at::Tensor probe = at::zeros({1, width}, at::kBFloat16);
    for (const at::Device place : {at::Device(at::kCPU), device}) {
      if (can_tile_attention(probe.to(place), width)) continue;
      equality.problem =
          fmt::format("{} has no attention by tiles for heads of {}", place.str(), width);
      return equality;
    }
    for (const bool causal : {false, true}) {
      for (const Added added :
           {Added::nothing, Added::table, Added::window, Added::pairs, Added::certain}) {
        const Case one{.width = width, .causal = causal, .added = added};
        const std::int64_t tokens = Case::kTexts * Case::kLength;
        const Inputs inputs{
            .rows = one.rows(random),
            .gradient = at::randn({tokens, Case::kHeads * width}, random).to(at::kBFloat16),
            .additive = one.additive(random)};
        const NamedResults host = results(one, inputs);
        ++equality.cases;
        NamedResults made;
        try {
          made = results(one, inputs.on(device));
          // The copy waits for a GPU, which then reports what went wrong.
          for (auto& [what, tensor] : made) tensor = tensor.to(at::kCPU);
        } catch (const std::exception& error) {  // the other checks go on
          equality.difference = std::numeric_limits<double>::infinity();
          equality.worst = fmt::format(
              "heads of {}: {}", width,
              std::string(error.what()).substr(0, std::string_view(error.what()).find('\n')));
          return equality;
        }
        for (std::size_t i = 0; i < host.size(); ++i) {
          const at::Tensor exact = host[i].second.to(at::kDouble);
          const double apart = (made[i].second.to(at::kDouble) - exact).abs().max().item<double>() /
                               exact.abs().max().item<double>();
          // NaN is the worst miss.
          const double share =
              std::isfinite(apart) ? apart : std::numeric_limits<double>::infinity();
          if (share <= equality.difference && !equality.worst.empty()) continue;
          equality.difference = share;
          equality.worst = fmt::format("{}: {}", one.name(), host[i].first);
        }
      }
    }
  }
  return equality;
}

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
    if (faulted) results.back().problem += "; no scheme after it was run: the device is lost";
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
