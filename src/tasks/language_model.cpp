#include "tasks/language_model.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/nonzero.h>
#include <fmt/format.h>

#include "base/error.h"

namespace roformer {
namespace {

at::Tensor copy_to(const std::vector<std::int64_t>& values, at::Device device) {
  return at::from_blob(const_cast<std::int64_t*>(values.data()),
                       {static_cast<std::int64_t>(values.size())}, at::kLong)
      .to(device, /*non_blocking=*/false, /*copy=*/true);
}

LanguageBatch tokens_to_device(const TokenBatch& batch, at::Device device) {
  LanguageBatch result{.ids = copy_to(batch.ids, device)};
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 1; i < batch.sequence_starts.size(); ++i) {
    lengths.push_back(batch.sequence_starts[i] - batch.sequence_starts[i - 1]);
  }
  result.layout = TokenLayout::of_lengths(lengths);
  return result;
}

EncoderSettings encoder_settings(const Settings& settings, std::int64_t vocabulary) {
  EncoderSettings result{.model = settings.model,
                         .attention = settings.attention,
                         .position = settings.position,
                         .causal = settings.task == TaskKind::causal_lm,
                         .training_length = settings.data.length};
  if (result.model.vocabulary == 0) result.model.vocabulary = vocabulary;
  if (result.model.vocabulary < vocabulary) {
    throw_usage("model.vocabulary",
                fmt::format("{} is smaller than the tokenizer's {} pieces", result.model.vocabulary,
                            vocabulary),
                "leave it at 0 to take the tokenizer's");
  }
  return result;
}

}  // namespace

LanguageBatch to_device(const MaskedBatch& batch, at::Device device) {
  LanguageBatch result = tokens_to_device(batch, device);
  result.places = copy_to(batch.places, device);
  result.labels = copy_to(batch.labels, device);
  return result;
}

LanguageBatch to_device(const CausalBatch& batch, at::Device device) {
  LanguageBatch result = tokens_to_device(batch, device);
  std::vector<std::int64_t> places, labels;
  for (std::size_t i = 0; i < batch.targets.size(); ++i) {
    if (batch.targets[i] == CausalBatch::kNoTarget) continue;
    places.push_back(static_cast<std::int64_t>(i));
    labels.push_back(batch.targets[i]);
  }
  result.labels = copy_to(labels, device);
  if (places.size() < batch.targets.size()) result.places = copy_to(places, device);
  return result;
}

LanguageModel::LanguageModel(const Settings& settings, std::int64_t vocabulary,
                             const ComputePlan& plan)
    : plan_(plan),
      parameters_(settings.seed),
      encoder_(encoder_settings(settings, vocabulary), parameters_),
      head_(encoder_, parameters_) {
  parameters_.freeze([&](const ParameterSpec& spec) {
    if (spec.depth == 0) return settings.model.freeze_embeddings;
    return spec.depth <= settings.model.freeze_layers;
  });
  parameters_.flatten(plan.device);
}

CrossEntropy LanguageModel::loss(const LanguageBatch& batch, bool training,
                                 std::uint64_t dropout_key,
                                 const std::optional<Positions>& positions) const {
  const at::Tensor states = encoder_.forward({.ids = batch.ids,
                                              .layout = batch.layout,
                                              .positions = positions,
                                              .places = batch.places,
                                              .training = training,
                                              .dropout_key = dropout_key,
                                              .precision = plan_.precision});
  return head_.loss(states, batch.labels);
}

at::Tensor LanguageModel::logits(const at::Tensor& ids, const TokenLayout& layout,
                                 const at::Tensor& places,
                                 const std::optional<Positions>& positions) const {
  return head_.logits(encoder_.forward({.ids = ids,
                                        .layout = layout,
                                        .positions = positions,
                                        .places = places,
                                        .precision = plan_.precision}));
}

}  // namespace roformer
