// Caches the biases of a scheme without parameters across steps. Keeps the most recently used ones,
// up to a total size.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <list>

#include "position/scheme.h"
#include "tensor/on_device.h"

namespace roformer {

class ConstantBias {
 public:
  // Returns the bias of the context; calls `make` if it is not cached.
  at::Tensor get(const AttentionContext& context, const std::function<at::Tensor()>& make) {
    constexpr std::int64_t kMostBytes = std::int64_t{128} << 20;
    for (auto entry = kept_.begin(); entry != kept_.end(); ++entry) {
      if (entry->queries != context.queries || entry->keys != context.keys ||
          entry->bias.scalar_type() != context.type || entry->bias.device() != context.device) {
        continue;
      }
      kept_.splice(kept_.begin(), kept_, entry);
      keep_for_graph(kept_.front().bias);
      return kept_.front().bias;
    }
    if (records_graph()) return make();
    kept_.push_front({context.queries, context.keys, make()});
    std::int64_t bytes = 0;
    const auto too_many =
        std::find_if(std::next(kept_.begin()), kept_.end(), [&](const Kept& kept) {
          return (bytes += static_cast<std::int64_t>(kept.bias.nbytes())) > kMostBytes;
        });
    kept_.erase(too_many, kept_.end());
    return kept_.front().bias;
  }

 private:
  struct Kept {
    Positions queries, keys;
    at::Tensor bias;  // as `make` returned it
  };
  std::list<Kept> kept_;
};

}  // namespace roformer
