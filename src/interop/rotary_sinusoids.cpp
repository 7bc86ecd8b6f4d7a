#include "interop/rotary_sinusoids.h"

#include "config/schemes/sinusoidal.h"
#include "position/positions.h"
#include "position/sinusoidal.h"

namespace roformer {

at::Tensor rotary_sinusoids(std::int64_t positions, std::int64_t head_width) {
  return sinusoid_table(Positions::range(0, positions), head_width, 10000, SinusoidalLayout::concat)
      .to(at::kFloat);
}

}  // namespace roformer
