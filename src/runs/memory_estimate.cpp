#include "runs/memory_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/progress.h"
#include "config/attention_settings.h"
#include "config/position_facts.h"
#include "config/task_facts.h"

namespace roformer {
namespace {

constexpr double kWide = 4;  // bytes of fp32

// The numbers of one token that one layer keeps for the backward pass: queries, keys, values and
// the output of attention; the norm's sum and result; the values before and after the activation;
// the second norm's sum and result.
struct LayerKept {
  double attention = 0;       // in the type of the activations
  double wide_attention = 0;  // in fp32: features of linear attention, scores
  double rest = 0;            // of the norms and the feed-forward layer
};

struct StackShape {
  std::int64_t layers = 0;
  double tokens = 0, targets = 0;  // targets: rows that the last layer computes after its attention
  double length = 0;
  std::int64_t layers_with_scores = 0;
  bool on_cpu = false;
  double bytes = kWide;  // of an activation
};

LayerKept kept_of_layer(const ModelSettings& model, const AttentionSettings& attention,
                        const StackShape& shape, bool keeps_scores, bool rotates) {
  const auto width = static_cast<double>(model.width);
  const auto heads = static_cast<double>(model.heads),
             of_head = static_cast<double>(model.features_of_head());
  const double queries = heads * of_head;
  const double keys = static_cast<double>(model.heads_of_keys()) * of_head;
  const double inner =
      (is_gated(model.activation) ? 3 : 2) * static_cast<double>(model.feed_forward);
  LayerKept kept{.attention = 2 * queries + 2 * keys, .rest = 4 * width + inner};
  if (attention.kernel != AttentionKernel::softmax && shape.on_cpu) {
    // Denominators and, beside an output that was rounded, the wide one (tensor/linear_heads.h).
    // Shared keys and values are repeated for each query head.
    kept.wide_attention = heads + (shape.bytes < kWide ? queries : 0);
    if (keys != queries) kept.attention += 2 * queries;
  } else if (attention.kernel != AttentionKernel::softmax) {
    // The features of queries and keys, again where they are rotated, and wide copies of the
    // inputs.
    const auto features =
        static_cast<double>(linear_feature_count(attention, model.features_of_head()));
    const bool favor = attention.kernel == AttentionKernel::favor;
    const bool after = attention.linear_rotation == LinearRotation::numerator;
    kept.wide_attention = (rotates && after ? 4 : 2) * heads * features +
                          ((favor ? 3 : 1) + (rotates && !after ? 2 : 0)) * queries;
  } else if (keeps_scores || attention.dropout > 0) {
    const double scores = attention.dropout > 0 ? 2.25 : 1;  // and what dropout leaves of them
    kept.attention += 1.5 * queries;
    kept.wide_attention = scores * heads * shape.length;
  }
  return kept;
}

// Bytes that one stack keeps.
double stack_bytes(const Settings& settings, const StackShape& shape) {
  const double bytes = shape.bytes;
  const ModelSettings& model = settings.model;
  const auto width = static_cast<double>(model.width);
  const std::vector<AttentionSettings> attention =
      attention_of_layers(settings.attention, shape.layers);
  const PositionFacts* const scheme = find_position_facts(settings.position.scheme);
  const bool rotates = scheme != nullptr && scheme->rotary;
  // A recomputed part keeps only its input. The backward pass then holds one whole part at a time.
  const double input = model.norm == NormPlacement::pre ? 2 * width : width;
  double sum = 2 * width * shape.tokens * bytes;  // the embedding and its norm
  double largest = 0;                             // of the recomputed parts
  for (std::int64_t i = 0; i < shape.layers; ++i) {
    const LayerKept kept = kept_of_layer(model, attention[static_cast<std::size_t>(i)], shape,
                                         i < shape.layers_with_scores, rotates);
    const bool last = i + 1 == shape.layers;
    const double in_attention =
        shape.tokens * (bytes * kept.attention + kWide * kept.wide_attention);
    const double rest = bytes * kept.rest * (last ? shape.targets : shape.tokens);
    switch (settings.training.recompute) {
      case Recomputation::none:
        sum += in_attention + rest;
        break;
      case Recomputation::layer:
        sum += bytes * input * shape.tokens;
        largest = std::max(largest, in_attention + rest);
        break;
      case Recomputation::attention:
        // The norm after attention belongs to the recomputed part.
        sum += rest + bytes * (input - 2 * width) * shape.tokens;
        largest = std::max(largest, in_attention + bytes * 2 * width * shape.tokens);
        break;
    }
  }
  return sum + largest;
}

// A block of logits and what is made of it (tensor/cross_entropy.cpp).
double logits_bytes(const ModelSettings& model, double targets, const ComputePlan& plan,
                    double bytes) {
  const double block = (plan.device.is_cpu() ? 64.0 : 512.0) * (1 << 20);
  const auto vocabulary = static_cast<double>(model.vocabulary);
  const auto width =
      static_cast<double>(model.embedding_width > 0 ? model.embedding_width : model.width);
  const double all = bytes * targets * vocabulary;
  // The states and what becomes of them in the head; with several blocks the table's gradient.
  const double states = 6 * bytes * targets * width;
  return std::min(all, block) + states + (all > block ? kWide * vocabulary * width : 0);
}

}  // namespace

MemoryEstimate estimate_memory(const Settings& settings, std::int64_t parameters, double tokens,
                               const ComputePlan& plan, std::int64_t processes,
                               std::int64_t of_muon, const MemoryDetails& details) {
  const TaskFacts& facts = task_facts(settings.task);
  const bool cut = settings.training.shard_optimizer;
  const auto count = static_cast<double>(parameters);
  const double part = 1 / static_cast<double>(processes), of_parts = cut ? part : 1;
  const bool sums = settings.training.reduce == GradientReduction::deterministic;

  // Tasks with labels have outputs for whole texts, whose size is nothing beside the rest.
  const bool over_vocabulary = !facts.labelled && facts.data != TaskData::matching_folder;
  const double share = facts.causal || facts.has_decoder ? 1 : settings.data.masking.probability;
  const double targets = details.targets >= 0 ? details.targets : share * tokens;
  const double length =
      details.length > 0 ? details.length : static_cast<double>(settings.data.length);
  const double bytes = plan.precision == Precision::bf16 ? 2 : kWide;

  StackShape stack{.layers = settings.model.layers,
                   .tokens = tokens,
                   .targets = over_vocabulary || details.targets >= 0 ? targets : tokens,
                   .length = length,
                   .layers_with_scores = details.layers_with_scores,
                   .on_cpu = plan.device.is_cpu(),
                   .bytes = bytes};
  double activations = 0;
  if (facts.has_decoder) {
    StackShape encoder = stack;
    encoder.tokens = encoder.targets = details.source_tokens >= 0 ? details.source_tokens : tokens;
    activations += stack_bytes(settings, encoder);
    const std::int64_t layers = settings.translation.decoder_layers;
    if (layers > 0) stack.layers = layers;
    // Attention to the source: queries, output and a norm for each target token, keys and values
    // for each source token.
    const auto width = static_cast<double>(settings.model.width);
    activations +=
        bytes * static_cast<double>(stack.layers) * width * (4 * tokens + 2 * encoder.tokens);
  }
  activations += stack_bytes(settings, stack);
  if (plan.precision == Precision::bf16) activations += 2 * count;  // the weights, rounded

  const auto whole = [](double value) { return static_cast<std::uint64_t>(std::llround(value)); };
  return {
      .weights = whole(kWide * count),
      .gradients = whole(kWide * count * (sums ? 1 + part : 1)),
      .moments = whole(kWide * of_parts * (2 * count - static_cast<double>(of_muon))),
      .average = settings.training.ema > 0 ? whole(kWide * of_parts * count) : 0,
      .activations = whole(activations),
      .logits = over_vocabulary ? whole(logits_bytes(settings.model, targets, plan, bytes)) : 0};
}

std::string describe(const MemoryEstimate& estimate, std::int64_t parameters, double tokens) {
  return fmt::format("about {}: {} for {} parameters, {} for a batch of {} tokens",
                     format_bytes(estimate.total()), format_bytes(estimate.state()),
                     format_count(parameters), format_bytes(estimate.activations + estimate.logits),
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
