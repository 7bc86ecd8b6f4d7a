// FIRE with the tensors of its layers given from outside.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "config/schemes/fire.h"
#include "position/scheme.h"

namespace roformer {

struct FireLayer {
  struct Network {                    // linear maps with ReLU between them, 1 -> .. -> H features
    std::vector<at::Tensor> weights;  // [out, in]
    std::vector<at::Tensor> biases;   // [out]
  };
  at::Tensor slope;      // [1]: c
  at::Tensor threshold;  // [1]: L_mult, of the initial length
  Network network;
};

std::unique_ptr<PositionScheme> make_fire_of(const FireSettings& settings,
                                             std::vector<FireLayer> layers);

}  // namespace roformer
