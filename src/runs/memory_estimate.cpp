#include "runs/memory_estimate.h"

#include <fmt/format.h>

#include <cmath>

#include "base/progress.h"

namespace roformer {

MemoryEstimate estimate_memory(const Settings& settings, std::int64_t parameters, double tokens,
                               const ComputePlan& plan, std::int64_t processes,
                               std::int64_t of_muon) {
  // Each of these is fp32: weight, gradient, two moments, averaged weight, summed gradient of a
  // part.
  const double part = 1 / static_cast<double>(processes);
  const double of_parts = settings.training.shard_optimizer ? part : 1;
  const double numbers_of_state =
      2 + (settings.training.ema > 0 ? 3 : 2) * of_parts +
      (settings.training.reduce == GradientReduction::deterministic ? part : 0);
  // One token in one layer keeps queries, keys, values, the outputs of attention and of both
  // projections, two sums and two norms (kOfWidth), and its values before and after the activation
  // (of_feed_forward).
  constexpr double kOfWidth = 11;
  const ModelSettings& model = settings.model;
  const double of_feed_forward = is_gated(model.activation) ? 3 : 2;
  const double bytes = plan.precision == Precision::bf16 ? 2.5 : 4;  // norms stay in fp32
  const double of_layer = kOfWidth * static_cast<double>(model.width) +
                          of_feed_forward * static_cast<double>(model.feed_forward);
  const auto layers = static_cast<double>(model.layers), width = static_cast<double>(model.width);
  // A recomputed layer keeps only its input. The backward pass then holds one whole layer at a
  // time.
  const double kept_of_layer = model.norm == NormPlacement::pre ? 2 * width : width;
  constexpr double kOfAttention = 6;  // the part of kOfWidth that belongs to attention
  double of_token = layers * of_layer;
  if (settings.training.recompute == Recomputation::layer) {
    of_token = layers * kept_of_layer + of_layer;
  } else if (settings.training.recompute == Recomputation::attention) {
    of_token -= (layers - 1) * (kOfAttention * width - kept_of_layer);
  }
  const auto whole = [](double value) { return static_cast<std::uint64_t>(std::llround(value)); };
  return {.state = whole(4 * (numbers_of_state * static_cast<double>(parameters) -
                              of_parts * static_cast<double>(of_muon))),
          .activations = whole(bytes * tokens * of_token)};
}

std::string describe(const MemoryEstimate& estimate, std::int64_t parameters, double tokens) {
  return fmt::format("about {}: {} for {} parameters, {} for a batch of {} tokens",
                     format_bytes(estimate.total()), format_bytes(estimate.state),
                     format_count(parameters), format_bytes(estimate.activations),
                     format_count(std::llround(tokens)));
}

std::string memory_remedies(const Settings& settings) {
  const std::string batch =
      settings.training.batch_tokens > 0
          ? fmt::format("--training.batch_tokens ({} now)", settings.training.batch_tokens)
          : fmt::format("--training.batch ({} now)", settings.training.batch);
  return fmt::format(
      "lower {} with --training.accumulation to make up for it, --data.length ({} now), or "
      "--model.layers, --model.width and --model.vocabulary{}",
      batch, settings.data.length,
      settings.training.recompute == Recomputation::layer ? "" : "; or --training.recompute layer");
}

}  // namespace roformer
