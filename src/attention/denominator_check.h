// Counts how close the denominators of linear attention are to zero. While a DenominatorCheck
// lives, it counts the denominators that its thread computes. Feature maps are positive, so a
// denominator is small only relative to its bound, |phi(q)| times the sum of |phi(k)|. If RoPE
// rotates only the numerator (RoFormer eq. 19), the numerator can reach that bound: a denominator
// at a hundredth of it lets the weights of a token sum to a hundred instead of one.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace roformer {

struct DenominatorFigures {
  std::int64_t count = 0;
  std::int64_t small = 0;  // below kSmallDenominator of their bound
  double least = 1;        // the smallest ratio of a denominator to its bound

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

  // Linear attention computes the bound only if a check is wanted.
  static bool wanted() { return present_ != nullptr; }
  // Both of one shape. Entries with bound 0 (no visible key) are not counted.
  static void look(const at::Tensor& denominator, const at::Tensor& bound);

 private:
  static thread_local DenominatorCheck* present_;
  DenominatorCheck* outer_;
  at::Tensor count_, small_, least_;  // of one number, on the device; undefined: none yet
};

}  // namespace roformer
