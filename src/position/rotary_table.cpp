#include "position/rotary_table.h"

#include <cmath>
#include <complex>

#include "tensor/aten.h"
#include "tensor/on_device.h"

namespace roformer {

std::vector<double> rotary_frequencies(std::int64_t width, double base) {
  std::vector<double> frequencies(static_cast<std::size_t>(width / 2));
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    frequencies[i] = std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(width));
  }
  return frequencies;
}

std::vector<std::int64_t> half_permutation(std::int64_t width) {
  std::vector<std::int64_t> permutation;
  for (std::int64_t first = 0; first < 2; ++first) {
    for (std::int64_t i = first; i < width; i += 2) permutation.push_back(i);
  }
  return permutation;
}

Rotation make_rotation(const RotaryKey& key) {
  const RotaryAngles& angles = key.angles;
  const std::int64_t length = key.positions.count();
  const auto pairs = static_cast<std::int64_t>(angles.frequencies.size());
  at::Tensor cosine = at::empty({length, pairs}, at::kDouble);
  at::Tensor sine = at::empty({length, pairs}, at::kDouble);
  double* const c = cosine.mutable_data_ptr<double>();
  double* const s = sine.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < length; ++i) {
    const double point = angles.stride * static_cast<double>(key.positions[i]) + angles.shift;
    for (std::int64_t pair = 0; pair < pairs; ++pair) {
      const auto n = static_cast<std::size_t>(pair);
      const double angle = point * angles.frequencies[n];
      const double size = angles.growth.empty()
                              ? angles.factor
                              : angles.factor * std::exp(angles.growth[n] * point);
      c[i * pairs + pair] = size * std::cos(angle);
      s[i * pairs + pair] = size * std::sin(angle);
    }
  }
  const auto options = at::TensorOptions().dtype(key.type).device(key.device);
  return {.cosine = on_device(cosine, options),
          .sine = on_device(sine, options),
          .layout = angles.layout};
}

namespace {

std::int64_t bytes_of(const Rotation& rotation) {
  return 2 * rotation.cosine.numel() * rotation.cosine.element_size();
}

}  // namespace

const Rotation& RotaryTables::get(const RotaryKey& key) {
  // A batch of unequal texts needs one table per length. A generated text needs a new table for
  // every token, but only once.
  constexpr std::size_t kAlwaysKept = 8, kMostKept = 1024;
  constexpr std::int64_t kKeptBytes = 64 << 20;
  for (auto entry = recent_.begin(); entry != recent_.end(); ++entry) {
    if (entry->first != key) continue;
    recent_.splice(recent_.begin(), recent_, entry);
    keep_for_graph(recent_.front().second.cosine);
    keep_for_graph(recent_.front().second.sine);
    return recent_.front().second;
  }
  recent_.emplace_front(key, make_rotation(key));
  bytes_ += bytes_of(recent_.front().second);
  while (recent_.size() > kMostKept || (recent_.size() > kAlwaysKept && bytes_ > kKeptBytes)) {
    bytes_ -= bytes_of(recent_.back().second);
    recent_.pop_back();
  }
  return recent_.front().second;
}

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
