// Finds the first layer whose output is not finite: while a FiniteCheck lives, the layers that this
// thread computes are checked one after the other. Each check waits for the device. The debugging
// key training.check_finite turns it on.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/isfinite.h>

#include <string>

#include "tensor/scoped.h"

namespace roformer {

class FiniteCheck {
 public:
  // The name of the first output that was not finite; "" if all were.
  const std::string& first() const { return first_; }

  // Called by layers; costs nothing while no check lives. `name()` is only called for a bad output.
  template <class Name>
  static void look(const at::Tensor& output, const Name& name) {
    if (present_ == nullptr || !present_->first_.empty()) return;
    if (!at::isfinite(output.detach()).all().template item<bool>()) present_->first_ = name();
  }

 private:
  static inline constinit thread_local FiniteCheck* present_ = nullptr;
  Scoped<FiniteCheck*> scope_{present_, this};
  std::string first_;
};

}  // namespace roformer
