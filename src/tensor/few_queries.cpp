#include "tensor/few_queries.h"

#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>

#include "base/error.h"
#include "tensor/dispatch.h"
#include "tensor/loops.h"
#include "tensor/parallel.h"
#include "tensor/scratch.h"

namespace roformer {
namespace {

// A beam's, and no more: from here on each key serves enough queries for a product of matrices.
constexpr std::int64_t kMostQueries = 8;

bool wants_gradient(const at::Tensor& x) {
  return x.defined() && x.requires_grad();
}

}  // namespace

bool can_attend_few(const FewQueryAttention& in) {
  if (!runs_loops(in.query) || in.query.size(2) > kMostQueries) return false;
  if (in.key.stride(3) != 1 || in.value.stride(3) != 1) return false;
  return !c10::GradMode::is_enabled() || !(wants_gradient(in.query) || wants_gradient(in.key) ||
                                           wants_gradient(in.value) || wants_gradient(in.additive));
}

at::Tensor attend_few(const FewQueryAttention& in) {
  const std::int64_t texts = in.query.size(0), heads = in.query.size(1), queries = in.query.size(2),
                     width = in.query.size(3), keys = in.key.size(2);
  const std::int64_t shared = heads / in.key.size(1);  // heads of queries that see the same keys
  ROFORMER_ASSERT(in.key.size(1) * shared == heads && in.value.sizes() == in.key.sizes());
  const at::ScalarType type = in.query.scalar_type(), wide = accumulate_type(type);
  const at::Tensor query = in.query.detach().to(wide).contiguous();
  at::Tensor additive;
  if (in.additive.defined()) {
    additive = in.additive.detach().to(wide).contiguous().expand({texts, heads, queries, keys});
    if (additive.stride(3) != 1 && keys > 1) additive = additive.contiguous();
  }
  const at::Tensor output = at::empty({texts, queries, heads, width}, in.query.options());
  with_type(type, [&](auto tag) {
    using T = decltype(tag);
    using A = kernels::Accumulate<T>;
    const A* const asking = query.const_data_ptr<A>();
    const T* const key = in.key.const_data_ptr<T>();
    const T* const value = in.value.const_data_ptr<T>();
    const A* const added = additive.defined() ? additive.const_data_ptr<A>() : nullptr;
    T* const attended = output.mutable_data_ptr<T>();
    for_rows(texts * heads, queries * keys * width, [&](std::int64_t begin, std::int64_t end) {
      thread_local Scratch<A> scores;
      kernels::FewQueries<T> work{.query_row = width,
                                  .key_row = in.key.stride(2),
                                  .value_row = in.value.stride(2),
                                  .additive_row = added == nullptr ? 0 : additive.stride(2),
                                  .output_row = heads * width,
                                  .queries = queries,
                                  .keys = keys,
                                  .width = width,
                                  .scale = static_cast<A>(in.scale),
                                  .scores = scores(keys)};
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t text = row / heads, head = row % heads, of_keys = head / shared;
        work.query = asking + row * queries * width;
        work.key = key + text * in.key.stride(0) + of_keys * in.key.stride(1);
        work.value = value + text * in.value.stride(0) + of_keys * in.value.stride(1);
        if (added != nullptr) {
          work.additive = added + text * additive.stride(0) + head * additive.stride(1);
        }
        work.output = attended + (text * queries * heads + head) * width;
        kernels::table<T>().attend_few(work);
      }
    });
  });
  return output.transpose(1, 2);
}

}  // namespace roformer
