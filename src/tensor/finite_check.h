// For finding where numbers stop being finite: as long as a FiniteCheck lives, the layers that this
// thread computes are looked at one after the other, and the first bad one is remembered. Looking
// waits for the device; a key for debugging, training.check_finite, turns it on.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>

namespace roformer {

class FiniteCheck {
 public:
  FiniteCheck();
  ~FiniteCheck();
  FiniteCheck(const FiniteCheck&) = delete;
  FiniteCheck& operator=(const FiniteCheck&) = delete;

  // The name of the first output that was not finite; "" where all were.
  const std::string& first() const { return first_; }

  // Called by layers; costs nothing while no check lives. `name` is asked for a bad output only.
  template <class Name>
  static void look(const at::Tensor& output, const Name& name) {
    if (present_ != nullptr) present_->look_at(output, name);
  }

 private:
  static thread_local FiniteCheck* present_;
  FiniteCheck* outer_;
  std::string first_;

  void look_at(const at::Tensor& output, const std::function<std::string()>& name);
};

}  // namespace roformer
