#include "position/decay_bound.h"

#include <complex>

namespace roformer {

std::vector<double> decay_bound(std::span<const double> frequencies,
                                std::span<const double> distances) {
  std::vector<double> bound;
  for (const double distance : distances) {
    std::complex<double> partial = 0;
    double sum = 0;
    for (const double frequency : frequencies) {
      partial += std::polar(1.0, distance * frequency);
      sum += std::abs(partial);
    }
    bound.push_back(sum / static_cast<double>(frequencies.size()));
  }
  return bound;
}

}  // namespace roformer
