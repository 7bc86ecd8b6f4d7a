// Several step models of one vocabulary as one: what follows has the mean of their probabilities.
#pragma once

#include <memory>
#include <vector>

#include "model/step_model.h"

namespace roformer {

class Ensemble : public StepModel {
 public:
  explicit Ensemble(std::vector<std::unique_ptr<StepModel>> members);

  // Logits [B, V] that are the logarithm of the mean probabilities.
  at::Tensor append(const at::Tensor& ids) override;
  void reorder(std::span<const std::int64_t> rows) override;

 private:
  std::vector<std::unique_ptr<StepModel>> members_;
};

}  // namespace roformer
