// Where values lie on an axis, and which round values get a tick and a label.
#pragma once

#include <string>
#include <vector>

#include "report/chart.h"

namespace roformer {

// Maps values of [low, high] to [0, 1], linearly or by their logarithm.
struct AxisScale {
  double low = 0;
  double high = 1;
  Axis::Scale scale = Axis::Scale::linear;
  std::vector<double> ticks = {};  // those the axis asks for

  double fraction(
      double value) const;  // of the axis; NaN for what is not on it (not positive on a log axis)
};

// The range of an axis: of the finite values, or what the axis says. `padding` is the share of the
// range added beyond the data where the axis leaves it open. Never empty, whatever the values.
AxisScale fit_scale(const Axis& axis, const std::vector<double>& values, double padding);

struct Tick {
  double value = 0;
  std::string label;
};

// About `target` ticks at multiples of 1, 2 or 5 times a power of ten, all within the range; on a
// logarithmic axis at powers of ten, or at 1, 2 and 5 times those where the range is short. Ticks
// that the axis asks for come instead.
std::vector<Tick> make_ticks(const AxisScale& scale, int target);

}  // namespace roformer
