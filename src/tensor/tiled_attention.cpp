#include "tensor/tiled_attention.h"

#include <c10/core/GradMode.h>

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "base/error.h"
#include "tensor/aten.h"
#include "tensor/cpu/attention_products.h"
#include "tensor/cpu/attention_tile.h"
#include "tensor/dispatch.h"
#include "tensor/gpu/tiled_attention.h"
#include "tensor/parallel.h"
#include "tensor/products.h"

namespace roformer {
namespace {

// One thread's segments: those that share the gradient of a bias of pairs.
struct Work {
  std::size_t begin = 0, end = 0;  // of segments
  std::int64_t head = 0;
  std::size_t group = 0;  // of segments that share the gradients of tables of relative vectors
};

// At most so many sums of such gradients: few, because each is as large as the tables, but enough
// for the threads, which share the heads, too.
constexpr std::size_t kRelativeGroups = 8;

std::vector<Work> split(const TiledAttention& in, const std::vector<at::Tensor>& additive_wanted,
                        const std::vector<at::Tensor>& relative_wanted = {}) {
  std::vector<Work> works;
  if (!relative_wanted.empty()) {
    const std::size_t segments = in.segments.size(),
                      each = (segments + kRelativeGroups - 1) / kRelativeGroups;
    for (std::size_t begin = 0, group = 0; begin < segments; begin += each, ++group) {
      for (std::int64_t head = 0; head < in.heads; ++head) {
        works.push_back({begin, std::min(segments, begin + each), head, group});
      }
    }
    return works;
  }
  for (std::size_t begin = 0, end = 0; begin < in.segments.size(); begin = end) {
    const std::int64_t additive = in.segments[begin].additive;
    const bool wanted = additive >= 0 && !additive_wanted.empty() &&
                        additive_wanted[static_cast<std::size_t>(additive)].defined();
    const bool shared =
        wanted && !by_difference(additive_wanted[static_cast<std::size_t>(additive)]);
    end = begin + 1;
    while (shared && end < in.segments.size() && in.segments[end].additive == additive) ++end;
    for (std::int64_t head = 0; head < in.heads; ++head) {
      works.push_back({.begin = begin, .end = end, .head = head});
    }
  }
  return works;
}

// Calls function(tile), a std::type_identity of the AttentionTile to use.
template <typename Function>
void with_tile(const TiledAttention& in, const Function& function) {
  with_type(in.query.scalar_type(), [&](auto type) {
    using M = decltype(type);
    if constexpr (std::is_same_v<M, c10::BFloat16>) {
      if (PanelProducts::serve(in.query.size(1) / in.heads)) {
        return function(std::type_identity<AttentionTile<PanelProducts>>{});
      }
      if (!has_bfloat16_block_products()) {
        return function(std::type_identity<AttentionTile<BlasProducts<M, float>>>{});
      }
    }
    function(std::type_identity<AttentionTile<BlasProducts<M, M>>>{});
  });
}

// The tables of relative vectors in the type of the products' operands.
template <typename T>
std::vector<at::Tensor> tables_of(const TiledAttention& in) {
  std::vector<at::Tensor> tables;
  for (const RelativeTerm& term : in.relative) {
    tables.push_back(term.table.to(c10::CppTypeToScalarType<T>()).contiguous());
  }
  return tables;
}

// The gradients of those tables for each group of segments, [groups, H, R, D], where wanted:
// groups are distributed over threads, and the order of their sum must not depend on that.
std::vector<at::Tensor> group_gradients(const TiledAttention& in,
                                        const std::vector<at::Tensor>& wanted, std::size_t groups) {
  std::vector<at::Tensor> gradients(wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i].defined()) continue;
    gradients[i] = at::zeros(
        {static_cast<std::int64_t>(groups), in.heads, wanted[i].size(1), wanted[i].size(2)},
        wanted[i].options());
  }
  return gradients;
}

void check(const TiledAttention& in) {
  for (const RelativeTerm& term : in.relative) {
    ROFORMER_ASSERT(form_of(in.query) == Form::loops && term.index.of_differences());
    for (const at::Tensor& additive : in.additive) ROFORMER_ASSERT(by_difference(additive));
    for (const AttentionSegment& segment : in.segments) {
      ROFORMER_ASSERT(segment.query_length == segment.key_length &&
                      segment.query_length <= term.index.queries());
    }
  }
  ROFORMER_ASSERT(!in.sums.defined() ||
                  (in.additive.empty() && form_of(in.query) == Form::loops &&
                   in.sums.scalar_type() == at::kDouble && in.sums.stride(1) == 1));
  for (const at::Tensor& additive : in.additive) {
    // LibTorch leaves the stride of a single column open.
    ROFORMER_ASSERT((additive.dim() == 2 || additive.dim() == 3) &&
                    (additive.size(-1) == 1 || additive.stride(-1) == 1) &&
                    additive.scalar_type() == accumulate_type(in.query.scalar_type()));
  }
  for (const AttentionSegment& segment : in.segments) {
    if (segment.additive < 0) continue;
    const at::Tensor& additive = in.additive[static_cast<std::size_t>(segment.additive)];
    ROFORMER_ASSERT(!by_difference(additive) ||
                    additive.size(1) == segment.query_length + segment.key_length - 1);
  }
}

// A tensor for each segment's gradient of a bias by difference, [H, Lq + Lk - 1], if wanted:
// segments are distributed over threads, and the order of their sum must not depend on that.
std::vector<at::Tensor> gradients_of_differences(const TiledAttention& in,
                                                 const std::vector<at::Tensor>& wanted) {
  std::vector<at::Tensor> gradients_by_difference(in.segments.size());
  if (wanted.empty()) return gradients_by_difference;
  for (std::size_t s = 0; s < gradients_by_difference.size(); ++s) {
    if (in.segments[s].additive < 0) continue;
    const at::Tensor& sum = wanted[static_cast<std::size_t>(in.segments[s].additive)];
    if (sum.defined() && by_difference(sum))
      gradients_by_difference[s] = at::zeros(sum.sizes(), sum.options());
  }
  return gradients_by_difference;
}

}  // namespace

bool can_tile_attention(const at::Tensor& query, std::int64_t head_width) {
  const Form form = form_of(query);
  if (form == Form::gpu_kernels) return gpu::can_tile_attention(query, head_width);
  return form == Form::loops && has_block_products();
}

at::Tensor tiled_attention_forward(const TiledAttention& in, const at::Tensor& output) {
  check(in);
  if (form_of(in.query) == Form::gpu_kernels) return gpu::tiled_attention_forward(in, output);
  const at::Tensor logarithm = at::empty(
      {in.heads, output.size(0)}, output.options().dtype(accumulate_type(output.scalar_type())));
  const std::vector<Work> works = split(in, {});
  with_tile(in, [&](auto tile) {
    using Tile = typename decltype(tile)::type;
    const std::vector<at::Tensor> tables = tables_of<typename Tile::T>(in);
    for_each_in_turn(
        static_cast<std::int64_t>(works.size()),
        [&](std::int64_t i) {
          const Work& work = works[static_cast<std::size_t>(i)];
          Tile(in, in.segments[work.begin], work.head, tables).forward(output, logarithm);
        },
        release_tiles);
  });
  return logarithm;
}

void tiled_attention_backward(const TiledAttention& in, const at::Tensor& output,
                              const at::Tensor& logarithm, const at::Tensor& output_gradient,
                              const TiledAttentionGradients& gradients) {
  check(in);
  if (form_of(in.query) == Form::gpu_kernels) {
    gpu::tiled_attention_backward(in, output, logarithm, output_gradient, gradients);
    return;
  }
  const std::vector<Work> works = split(in, gradients.additive, gradients.relative);
  const std::vector<at::Tensor> of_groups =
      group_gradients(in, gradients.relative, works.empty() ? 0 : works.back().group + 1);
  const std::vector<at::Tensor> differences = gradients_of_differences(in, gradients.additive);
  with_tile(in, [&](auto tile) {
    using Tile = typename decltype(tile)::type;
    const std::vector<at::Tensor> tables = tables_of<typename Tile::T>(in);
    for_each_in_turn(
        static_cast<std::int64_t>(works.size()),
        [&](std::int64_t i) {
          const Work& work = works[static_cast<std::size_t>(i)];
          std::vector<at::Tensor> relative;
          for (const at::Tensor& x : of_groups) {
            relative.push_back(x.defined() ? x[static_cast<std::int64_t>(work.group)] : x);
          }
          for (std::size_t s = work.begin; s < work.end; ++s) {
            Tile(in, in.segments[s], work.head, tables)
                .backward(output, logarithm, output_gradient, gradients, differences[s], relative);
          }
        },
        release_tiles);
  });
  for (std::size_t s = 0; s < differences.size(); ++s) {
    if (!differences[s].defined()) continue;
    gradients.additive[static_cast<std::size_t>(in.segments[s].additive)].add_(differences[s]);
  }
  for (std::size_t i = 0; i < of_groups.size(); ++i) {
    if (!of_groups[i].defined()) continue;
    const at::Tensor sum = of_groups[i].sum(0);
    gradients.relative[i].add_(gradients.relative[i].size(0) == 1 ? sum.sum(0, true) : sum);
  }
}

namespace {

// Enough for a beam. With more queries a matrix product is faster.
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
  const std::int64_t shared = heads / in.key.size(1);  // query heads that share a head of keys
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
