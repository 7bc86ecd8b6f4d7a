#include "tasks/embedding/embedding_loss.h"

#include <cstdint>
#include <limits>
#include <vector>

#include "base/error.h"
#include "tasks/embedding/embedder.h"
#include "tensor/aten.h"
#include "tensor/on_device.h"

namespace roformer {
namespace {

// Marks the candidates of row i that are no negatives: [B, C] bool. The candidates 0 .. B-1 belong
// to the examples; candidate i is the right one of row i.
at::Tensor same_texts(const std::vector<std::int64_t>& rows,
                      const std::vector<std::int64_t>& candidates, at::Device device) {
  const auto count = static_cast<std::int64_t>(rows.size());
  const at::Tensor same =
      at::zeros({count, static_cast<std::int64_t>(candidates.size())}, at::kBool);
  bool* const marks = same.mutable_data_ptr<bool>();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < candidates.size(); ++j) {
      marks[i * candidates.size() + j] =
          i != j && (candidates[j] == rows[i] || candidates[j] == candidates[i]);
    }
  }
  return on_device(same, device);
}

// Sum over rows of -log softmax(scores)[i, i], scores [B, C].
at::Tensor partner_cross_entropy(const at::Tensor& scores, const at::Tensor& left_out) {
  const at::Tensor kept = scores.masked_fill(left_out, -std::numeric_limits<double>::infinity());
  return (at::logsumexp(kept, {1}) - scores.diagonal()).sum();
}

at::Tensor in_batch_loss_sum(const EmbeddingSettings& settings,
                             std::span<const EmbeddingExample> examples,
                             const ExampleVectors& vectors) {
  std::vector<std::int64_t> first, second, candidates;
  for (const EmbeddingExample& example : examples) {
    first.push_back(example.first);
    second.push_back(example.second);
  }
  candidates = second;
  at::Tensor others = vectors.second;
  if (vectors.negative.defined()) {
    for (const EmbeddingExample& example : examples) candidates.push_back(example.negative);
    others = at::cat({vectors.second, vectors.negative});
  }
  const at::Device device = vectors.first.device();
  const at::Tensor scores =
      at::mm(unit_rows(vectors.first), unit_rows(others).t()) / settings.temperature;
  const at::Tensor forward = partner_cross_entropy(scores, same_texts(first, candidates, device));
  if (!settings.symmetric) return forward;
  const at::Tensor back = scores.narrow(1, 0, std::ssize(first)).t();
  return (forward + partner_cross_entropy(back, same_texts(second, first, device))) / 2;
}

}  // namespace

at::Tensor example_cosines(const ExampleVectors& vectors) {
  return (unit_rows(vectors.first) * unit_rows(vectors.second)).sum(1);
}

at::Tensor embedding_loss_sum(const EmbeddingSettings& settings,
                              std::span<const EmbeddingExample> examples,
                              const ExampleVectors& vectors, double scale) {
  ROFORMER_ASSERT(std::ssize(examples) == vectors.first.size(0));
  if (settings.loss == EmbeddingLoss::in_batch) {
    return in_batch_loss_sum(settings, examples, vectors);
  }
  const at::Tensor scores = at::zeros({std::ssize(examples)}, at::kFloat);
  for (std::size_t i = 0; i < examples.size(); ++i) {
    scores.mutable_data_ptr<float>()[i] = static_cast<float>(examples[i].score / scale);
  }
  return (example_cosines(vectors) - on_device(scores, vectors.first.device())).square().sum();
}

}  // namespace roformer
