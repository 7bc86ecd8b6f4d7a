#include "tensor/finite_check.h"

#include "tensor/aten.h"

namespace roformer {

thread_local FiniteCheck* FiniteCheck::present_ = nullptr;

FiniteCheck::FiniteCheck() : outer_(present_) {
  present_ = this;
}

FiniteCheck::~FiniteCheck() {
  present_ = outer_;
}

void FiniteCheck::look_at(const at::Tensor& output, const std::function<std::string()>& name) {
  if (first_.empty() && !at::isfinite(output.detach()).all().item<bool>()) first_ = name();
}

}  // namespace roformer
