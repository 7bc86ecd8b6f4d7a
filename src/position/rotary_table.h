// Cosine and sine tables for rotary schemes. Angles are computed in double, so that position 10^5
// is as exact as position 1. Tables are float (double for double models) and computed once per key.
#pragma once

#include <ATen/core/Tensor.h>

#include <list>
#include <span>
#include <vector>

#include "config/schemes/rotary_layout.h"
#include "position/positions.h"
#include "position/scheme.h"
#include "tensor/rotation.h"

namespace roformer {

// How the angles of a scheme grow with the position.
struct RotaryAngles {
  std::vector<double> frequencies;  // [width / 2], radians per position
  double factor = 1;                // multiplies cosines and sines
  // The angle grows with stride * position + shift.
  double stride = 1;
  double shift = 0;
  std::vector<double> growth =
      {};  // [width / 2] or empty: a pair grows by e^(growth * position) too
  RotaryLayout layout = RotaryLayout::interleaved;

  bool operator==(const RotaryAngles&) const = default;
};

struct RotaryKey {
  Positions positions;
  RotaryAngles angles;
  at::ScalarType type = at::kFloat;
  at::Device device = at::kCPU;

  bool operator==(const RotaryKey&) const = default;
};

// base^(-2i/width), i = 0 .. width/2 - 1.
std::vector<double> rotary_frequencies(std::int64_t width, double base);

// pi = 0, 2, 4, .., 1, 3, 5, ..: rotating x[pi] by halves gives the result of rotating x by
// neighbours, permuted by pi.
std::vector<std::int64_t> half_permutation(std::int64_t width);

Rotation make_rotation(const RotaryKey& key);

// Caches the most recently used tables.
class RotaryTables {
 public:
  const Rotation& get(const RotaryKey& key);
  // The table in the context's type and on its device.
  Rotation at(const AttentionContext& context, const Positions& positions,
              const RotaryAngles& angles) {
    return get(
        {.positions = positions, .angles = angles, .type = context.type, .device = context.device});
  }
  // Rotates queries and keys by the same angles at their positions.
  RotationPair pair(const AttentionContext& context, const RotaryAngles& angles) {
    return {.query = at(context, context.queries, angles),
            .key = at(context, context.keys, angles)};
  }

 private:
  std::list<std::pair<RotaryKey, Rotation>> recent_;
  std::int64_t bytes_ = 0;
};

// The bound of RoPE's long-term decay (RoFormer, section 3.4.3 and figure 2): f(m) = mean over j =
// 1 .. n of |S_j(m)|, S_j(m) = sum over i < j of e^(sqrt(-1) m theta_i) (eq. 36, 37), for each
// distance m; n frequencies theta.
std::vector<double> decay_bound(std::span<const double> frequencies,
                                std::span<const double> distances);

}  // namespace roformer
