#include "tasks/language/language_model.h"

#include <algorithm>
#include <span>

#include "attention/linear_attention.h"
#include "tensor/aten.h"
#include "tensor/dispatch.h"
#include "tensor/on_device.h"
#include "tensor/products.h"

namespace roformer {
namespace {

LanguageBatch tokens_to_device(const TokenBatch& batch, at::Device device) {
  LanguageBatch result{.ids = copy_to(batch.ids, device)};
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 1; i < batch.sequence_starts.size(); ++i) {
    lengths.push_back(batch.sequence_starts[i] - batch.sequence_starts[i - 1]);
  }
  result.layout = TokenLayout::of_lengths(lengths);
  return result;
}

}  // namespace

LanguageBatch to_device(const MaskedBatch& batch, at::Device device) {
  LanguageBatch result = tokens_to_device(batch, device);
  result.target_positions = copy_to(batch.target_positions, device);
  result.labels = copy_to(batch.labels, device);
  return result;
}

LanguageBatch to_device(const CausalBatch& batch, at::Device device) {
  LanguageBatch result = tokens_to_device(batch, device);
  std::vector<std::int64_t> positions, labels;
  for (std::size_t i = 0; i < batch.targets.size(); ++i) {
    if (batch.targets[i] == CausalBatch::kNoTarget) continue;
    positions.push_back(static_cast<std::int64_t>(i));
    labels.push_back(batch.targets[i]);
  }
  result.labels = copy_to(labels, device);
  if (positions.size() < batch.targets.size()) {
    result.target_positions = copy_to(positions, device);
  }
  return result;
}

LanguageBatch to_device(const LanguageBatch& batch, at::Device device) {
  LanguageBatch result = batch;
  for (at::Tensor* tensor : {&result.ids, &result.target_positions, &result.labels}) {
    if (tensor->defined()) *tensor = on_device(*tensor, device);
  }
  return result;
}

LanguageBatch part_of(const LanguageBatch& batch, const BatchPart& part) {
  if (part.whole()) return batch;
  const auto [first, last] = sequences_of(part, sequence_lengths(batch.layout.blocks));
  LanguageBatch result{.layout = batch.layout.part(first, last)};
  const std::int64_t begin = result.layout.first_token, tokens = result.layout.tokens;
  result.ids = batch.ids.narrow(0, begin, tokens);
  if (!batch.target_positions.defined()) {
    result.labels = batch.labels.narrow(0, begin, tokens);
    result.first_target = begin;
    return result;
  }
  const std::int64_t* const positions = batch.target_positions.const_data_ptr<std::int64_t>();
  const std::span<const std::int64_t> rising(positions, batch.target_positions.numel());
  const auto number_of = [&](std::int64_t token) {
    return std::ranges::lower_bound(rising, token) - rising.begin();
  };
  result.first_target = number_of(begin);
  const std::int64_t targets = number_of(begin + tokens) - result.first_target;
  result.target_positions = batch.target_positions.narrow(0, result.first_target, targets) - begin;
  result.labels = batch.labels.narrow(0, result.first_target, targets);
  return result;
}

std::vector<std::int64_t> LanguageTrainingBatch::sizes() const {
  // Texts of many lengths rarely repeat the same sizes.
  constexpr std::size_t kMostBlocks = 4;
  if (batch.layout.blocks.size() > kMostBlocks) return {};
  constexpr std::int64_t kAll = -1;
  std::vector<std::int64_t> result{batch.labels.numel(), batch.target_positions.defined()
                                                             ? batch.target_positions.numel()
                                                             : kAll};
  for (const TokenBlock& block : batch.layout.blocks) {
    result.push_back(block.sequences);
    result.push_back(block.length);
  }
  return result;
}

std::vector<at::Tensor> LanguageTrainingBatch::tensors() const {
  std::vector<at::Tensor> result{batch.ids, batch.labels};
  if (batch.target_positions.defined()) result.push_back(batch.target_positions);
  return result;
}

std::unique_ptr<TrainingBatch> LanguageTrainingBatch::copied_to(at::Device device) const {
  auto result = std::make_unique<LanguageTrainingBatch>(*this);
  LanguageBatch& copy = result->batch;
  for (at::Tensor* tensor : {&copy.ids, &copy.target_positions, &copy.labels}) {
    if (tensor->defined()) *tensor = tensor->to(device, /*non_blocking=*/false, /*copy=*/true);
  }
  return result;
}

LanguageModel::LanguageModel(const Settings& settings, std::int64_t vocabulary,
                             const ComputePlan& plan)
    : plan_(plan),
      parameters_(settings.seed, at::kFloat, plan.device),
      encoder_(stack_settings(settings, vocabulary), parameters_),
      head_(encoder_, parameters_) {
  freeze_as_asked(settings.model, parameters_);
  parameters_.flatten();
}

LanguageBatch LanguageModel::pad_and_pin(LanguageBatch batch) const {
  const std::int64_t targets = batch.labels.numel(), missing = in_whole_products(targets) - targets;
  if (batch.target_positions.defined() && targets > 0 && missing > 0 &&
      !runs_loops(head_.table())) {
    batch.target_positions =
        at::cat({batch.target_positions, batch.target_positions.narrow(0, 0, 1).expand({missing})});
    batch.labels = at::cat({batch.labels, at::full({missing}, -1, batch.labels.options())});
  }
  for (at::Tensor* tensor : {&batch.ids, &batch.target_positions, &batch.labels}) {
    if (tensor->defined()) *tensor = pinned_for(*tensor, plan_.device);
  }
  return batch;
}

// On a GPU the number of rows is padded to a multiple that suits products: the first position is
// repeated after the targets.
at::Tensor LanguageModel::rows_of(const at::Tensor& targets) const {
  if (!targets.defined() || targets.numel() == 0 || runs_loops(head_.table())) return targets;
  const std::int64_t missing = in_whole_products(targets.numel()) - targets.numel();
  return missing == 0 ? targets : at::cat({targets, targets.narrow(0, 0, 1).expand({missing})});
}

CrossEntropy LanguageModel::loss(const LanguageBatch& batch, const ForwardMode& mode,
                                 const std::optional<Positions>& positions,
                                 AttentionObserver* observer) const {
  const std::uint64_t features =
      mode.training ? favor_key(encoder_.settings().attention, parameters_.seed(), mode.step) : 0;
  const at::Tensor states = encoder_.forward({.ids = batch.ids,
                                              .layout = batch.layout,
                                              .positions = positions,
                                              .rows = rows_of(batch.target_positions),
                                              .first_wanted = batch.first_target,
                                              .training = mode.training,
                                              .dropout_key = mode.key,
                                              .feature_key = features,
                                              .precision = plan_.precision,
                                              .observer = observer});
  return head_.loss(states, batch.labels);
}

void LanguageModel::add_to(InferenceWeights& weights, WeightForm form) const {
  if (!plan_.device.is_cpu()) return;
  const WeightForm used = form == WeightForm::fp32 ? WeightForm::fp32_in_place : form;
  add_projections(parameters_, used, weights);
  weights.add(head_.table(), used == WeightForm::bf16 ? WeightForm::fp32 : used);
  parameters_.release(head_.table());
}

at::Tensor LanguageModel::logits(const at::Tensor& ids, const TokenLayout& layout,
                                 const at::Tensor& rows,
                                 const std::optional<Positions>& positions) const {
  return head_.logits(encoder_.forward({.ids = ids,
                                        .layout = layout,
                                        .positions = positions,
                                        .rows = rows,
                                        .precision = plan_.precision}));
}

}  // namespace roformer
