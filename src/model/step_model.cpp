#include "model/step_model.h"

#include <c10/core/GradMode.h>

#include <utility>

#include "base/error.h"
#include "tensor/aten.h"

namespace roformer {

Ensemble::Ensemble(std::vector<std::unique_ptr<StepModel>> members) : members_(std::move(members)) {
  ROFORMER_ASSERT(!members_.empty());
}

at::Tensor Ensemble::append(const at::Tensor& ids) {
  if (members_.size() == 1) return members_[0]->append(ids);
  const c10::AutoGradMode no_gradient(false);
  at::Tensor sum;
  for (const auto& member : members_) {
    const at::Tensor own = at::log_softmax(member->append(ids), 1, at::kFloat).cpu();
    sum = sum.defined() ? at::logaddexp(sum, own) : own;
  }
  return sum;
}

void Ensemble::reorder(std::span<const std::int64_t> rows) {
  for (const auto& member : members_) member->reorder(rows);
}

}  // namespace roformer
