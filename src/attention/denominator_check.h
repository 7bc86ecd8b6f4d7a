// How near the denominators of linear attention come to zero: as long as a DenominatorCheck lives,
// those that this thread computes are counted. With positive features a denominator can be small
// only beside what the features could add up to, |phi(q)| times the sum of |phi(k)|. Where RoPE
// rotates the numerator alone (RoFormer eq. 19) that bound is what the numerator can reach: a
// denominator of a hundredth of it lets the weights of a token add up to a hundred instead of one.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace roformer {

struct DenominatorFigures {
  std::int64_t count = 0;
  std::int64_t small = 0;  // below kSmallDenominator of their bound
  double least = 1;        // of all, as a share of its bound

  double small_share() const {
    return count > 0 ? static_cast<double>(small) / static_cast<double>(count) : 0;
  }
};

inline constexpr double kSmallDenominator = 0.01;

class DenominatorCheck {
 public:
  DenominatorCheck();
  ~DenominatorCheck();
  DenominatorCheck(const DenominatorCheck&) = delete;
  DenominatorCheck& operator=(const DenominatorCheck&) = delete;

  // Waits for the device.
  DenominatorFigures figures() const;

  // Called by linear attention, which asks first: the bound costs something.
  static bool wanted() { return present_ != nullptr; }
  // Of one shape; where the bound is 0 (no key is visible) there is nothing to count.
  static void look(const at::Tensor& denominator, const at::Tensor& bound);

 private:
  static thread_local DenominatorCheck* present_;
  DenominatorCheck* outer_;
  at::Tensor count_, small_, least_;  // of one number, on the device; undefined: none yet
};

}  // namespace roformer
