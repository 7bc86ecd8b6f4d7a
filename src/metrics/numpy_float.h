// A number with NumPy's rules of precision (NEP 50, NumPy 2): float32 stays float32 against
// Python's own numbers. sacreBLEU's resampling sums its statistics in float32, and its confidence
// intervals and p-values are equal to the last digit only if every step rounds as NumPy's does.
#pragma once

#include <cmath>

namespace roformer {

struct NumpyFloat {
  double value = 0;
  bool single = false;  // a float32: value is one exactly

  NumpyFloat() = default;
  NumpyFloat(double number, bool is_single = false)  // NOLINT: a Python number
      : value(is_single ? static_cast<float>(number) : number), single(is_single) {}
};

inline NumpyFloat operator+(NumpyFloat a, NumpyFloat b) {
  if (!a.single && !b.single) return a.value + b.value;
  return {static_cast<float>(a.value) + static_cast<float>(b.value), true};
}
inline NumpyFloat operator-(NumpyFloat a, NumpyFloat b) {
  if (!a.single && !b.single) return a.value - b.value;
  return {static_cast<float>(a.value) - static_cast<float>(b.value), true};
}
inline NumpyFloat operator*(NumpyFloat a, NumpyFloat b) {
  if (!a.single && !b.single) return a.value * b.value;
  return {static_cast<float>(a.value) * static_cast<float>(b.value), true};
}
inline NumpyFloat operator/(NumpyFloat a, NumpyFloat b) {
  if (!a.single && !b.single) return a.value / b.value;
  return {static_cast<float>(a.value) / static_cast<float>(b.value), true};
}

}  // namespace roformer
