// Keeps the bias of a scheme without parameters from one step to the next: made once for the
// positions it was last asked for.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

#include "position/scheme.h"

namespace roformer {

class ConstantBias {
 public:
  // The bias of the context, from `make` where it is not the last one's.
  const at::Tensor& get(const AttentionContext& context, const std::function<at::Tensor()>& make) {
    const bool same = bias_.defined() && queries_ == context.queries && keys_ == context.keys &&
                      bias_.scalar_type() == context.type && bias_.device() == context.device;
    if (!same) {
      bias_ = make();
      queries_ = context.queries;
      keys_ = context.keys;
    }
    return bias_;
  }

 private:
  Positions queries_, keys_;
  at::Tensor bias_;  // as it was made
};

}  // namespace roformer
