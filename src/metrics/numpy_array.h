// The few operations on arrays of scores whose rounding decides p-values, as NumPy does them.
#pragma once

#include <vector>

#include "metrics/numpy_float.h"

namespace roformer {

// np.array(scores): float32 only where all are; else every one becomes float64.
std::vector<NumpyFloat> numpy_array(std::vector<NumpyFloat> scores);

// Of an array as above, by pairwise summation; at least one value.
NumpyFloat numpy_mean(const std::vector<NumpyFloat>& array);

}  // namespace roformer
