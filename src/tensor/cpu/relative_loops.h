// The loops of terms that depend on the difference of positions (attention_kernels.h).
#pragma once

#include "tensor/attention_kernels.h"
#include "tensor/cpu/lanes.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

// Calls function(key, count, product, stride) for the runs among a query's visible pairs: key
// `key + c` has its product at product[c * stride].
template <typename T, typename Function>
ROFORMER_INLINE void for_relative_runs(const RelativePairs<T>& o, std::int64_t query,
                                       const Function& function) {
  const std::int64_t origin = o.origin - query, begin = origin + o.key,
                     end = origin + std::min(o.key + o.keys, o.rows.visible(query));
  for (const RelativeRun* run = o.runs; run != o.runs + o.run_count && run->begin < end; ++run) {
    const std::int64_t from = std::max(begin, run->begin), to = std::min(end, run->end);
    if (from >= to) continue;
    const std::int64_t key = from - origin;
    const std::int64_t product = o.of_keys ? key - o.key : query - o.query;
    function(key, to - from,
             o.products + product * o.product_row + run->row + (from - run->begin) * run->step -
                 o.first_row,
             run->step + (o.of_keys ? o.product_row : 0));
  }
}

template <typename T>
void add_relative(const RelativePairs<T>& o) {
  using A = Accumulate<T>;
  for (std::int64_t query = o.query; query < o.query + o.queries; ++query) {
    A* const scores = o.rows.scores + query * o.rows.row;
    for_relative_runs(o, query,
                      [&](std::int64_t key, std::int64_t count, const A* product,
                          std::int64_t stride) ROFORMER_INLINED {
                        A* __restrict to = scores + key;
                        const A* __restrict from = product;
                        // Strides 0, 1 and -1 are constants for the vectoriser.
                        if (stride == 0) {
                          const A value = *from;
                          for (std::int64_t c = 0; c < count; ++c) to[c] += value;
                        } else if (stride == 1) {
                          for (std::int64_t c = 0; c < count; ++c) to[c] += from[c];
                        } else if (stride == -1) {
                          for (std::int64_t c = 0; c < count; ++c) to[c] += from[-c];
                        } else {
                          for (std::int64_t c = 0; c < count; ++c) to[c] += from[c * stride];
                        }
                      });
  }
}

template <typename T>
void sum_relative(const RelativePairs<T>& o) {
  using A = Accumulate<T>;
  for (std::int64_t query = o.query; query < o.query + o.queries; ++query) {
    const T* const pairs = o.pairs + query * o.rows.row;
    for_relative_runs(o, query,
                      [&](std::int64_t key, std::int64_t count, A* product, std::int64_t stride)
                          ROFORMER_INLINED {
                            const T* __restrict from = pairs + key;
                            A* __restrict to = product;
                            if (stride == 0) {
                              *to += sum_of(from, count);
                            } else if (stride == 1) {
                              for (std::int64_t c = 0; c < count; ++c) to[c] += load(from[c]);
                            } else if (stride == -1) {
                              for (std::int64_t c = 0; c < count; ++c) to[-c] += load(from[c]);
                            } else {
                              for (std::int64_t c = 0; c < count; ++c)
                                to[c * stride] += load(from[c]);
                            }
                          });
  }
}

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
