// What decoding knows of a model: that it goes on from the texts so far. Several texts of equal
// length stand side by side as rows; a search moves, doubles and drops them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace roformer {

class StepModel {
 public:
  virtual ~StepModel() = default;

  // Appends ids [B, L] int64, on any device, to the B texts and returns the logits of what follows,
  // [B, V]. Throws Error (usage) beyond the positions of a learned table.
  virtual at::Tensor append(const at::Tensor& ids) = 0;
  // Row i goes on from row rows[i]. Fewer rows than before are cheaper from then on.
  virtual void reorder(std::span<const std::int64_t> rows) = 0;
};

// Several step models of one vocabulary as one: what follows has the mean of their probabilities.

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
