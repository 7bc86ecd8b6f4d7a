#include "bench/attention_equality.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "tensor/tiled_attention.h"

namespace roformer {
namespace {

enum class Added { nothing, table, window, pairs };

const char* to_word(Added added) {
  switch (added) {
    case Added::nothing:
      return "nothing added";
    case Added::table:
      return "a table";
    case Added::window:
      return "a window";
    case Added::pairs:
      return "numbers for pairs";
  }
  return "";
}

// Two texts of several tiles and a rest, whose heads share their keys in pairs.
struct Case {
  static constexpr std::int64_t kHeads = 4, kSharedHeads = 2, kTexts = 2, kLength = 150;
  std::int64_t width = 64;
  bool causal = false;
  Added added = Added::nothing;

  std::string name() const {
    return fmt::format("width {}, {}{}", width, causal ? "causal, " : "", to_word(added));
  }

  at::Tensor additive(const at::Generator& random) const {
    constexpr std::int64_t kDifferences = 2 * kLength - 1, kWindow = 40;
    if (added == Added::pairs) return at::randn({kHeads, kLength, kLength}, random);
    at::Tensor table = at::randn({kHeads, kDifferences}, random);
    if (added == Added::window) {
      table.narrow(1, 0, kLength - kWindow).fill_(-std::numeric_limits<double>::infinity());
      table.narrow(1, kLength + kWindow, kLength - kWindow - 1)
          .fill_(-std::numeric_limits<double>::infinity());
    }
    return table;
  }
};

using Named = std::vector<std::pair<const char*, at::Tensor>>;

struct Inputs {
  at::Tensor rows;      // [T, (H + 2G) D] bfloat16
  at::Tensor gradient;  // [T, H D] bfloat16
  at::Tensor additive;  // or undefined

  Inputs on(at::Device device) const {
    return {.rows = rows.to(device),
            .gradient = gradient.to(device),
            .additive = additive.defined() ? additive.to(device) : additive};
  }
};

TiledAttention attention_of(const Case& one, const Inputs& in) {
  const std::int64_t queries = Case::kHeads * one.width, keys = Case::kSharedHeads * one.width;
  TiledAttention attention{.query = in.rows.narrow(1, 0, queries),
                           .key = in.rows.narrow(1, queries, keys),
                           .value = in.rows.narrow(1, queries + keys, keys),
                           .heads = Case::kHeads,
                           .key_value_heads = Case::kSharedHeads,
                           .scale = 1 / std::sqrt(static_cast<double>(one.width)),
                           .causal = one.causal};
  if (in.additive.defined()) attention.additive.push_back(in.additive);
  for (std::int64_t text = 0; text < Case::kTexts; ++text) {
    attention.segments.push_back({.query_begin = text * Case::kLength,
                                  .query_length = Case::kLength,
                                  .key_begin = text * Case::kLength,
                                  .key_length = Case::kLength,
                                  .additive = in.additive.defined() ? 0 : -1});
  }
  return attention;
}

Named results(const Case& one, const Inputs& in) {
  const TiledAttention attention = attention_of(one, in);
  const at::Tensor output = at::empty(in.gradient.sizes(), in.gradient.options());
  const at::Tensor logarithm = tiled_attention_forward(attention, output);
  TiledAttentionGradients into{.query = at::zeros_like(output),
                               .key = at::zeros_like(output),
                               .value = at::zeros_like(output)};
  if (in.additive.defined()) into.additive.push_back(at::zeros_like(in.additive));
  tiled_attention_backward(attention, output, logarithm, in.gradient, into);
  Named all{{"output", output},
            {"logarithm of the denominators", logarithm},
            {"gradient of the queries", into.query},
            {"gradient of the keys", into.key},
            {"gradient of the values", into.value}};
  if (in.additive.defined()) all.emplace_back("gradient of what is added", into.additive[0]);
  return all;
}

}  // namespace

bool AttentionEquality::passed() const {
  return problem.empty() && difference <= kAllowedAttentionDifference;
}

AttentionEquality compare_attention(at::Device device) {
  AttentionEquality equality;
  const at::Generator random = at::detail::createCPUGenerator(1);
  for (const std::int64_t width : {64, 128}) {
    const at::Tensor probe = at::zeros({1, width}, at::kBFloat16);
    for (const at::Device place : {at::Device(at::kCPU), device}) {
      if (can_tile_attention(probe.to(place), width)) continue;
      equality.problem =
          fmt::format("{} has no attention by tiles for heads of {}", place.str(), width);
      return equality;
    }
    for (const bool causal : {false, true}) {
      for (const Added added : {Added::nothing, Added::table, Added::window, Added::pairs}) {
        const Case one{.width = width, .causal = causal, .added = added};
        const std::int64_t tokens = Case::kTexts * Case::kLength;
        const Inputs inputs{
            .rows = at::randn({tokens, (Case::kHeads + 2 * Case::kSharedHeads) * width}, random)
                        .to(at::kBFloat16),
            .gradient = at::randn({tokens, Case::kHeads * width}, random).to(at::kBFloat16),
            .additive = added == Added::nothing ? at::Tensor() : one.additive(random)};
        const Named host = results(one, inputs);
        ++equality.cases;
        Named made;
        try {
          made = results(one, inputs.on(device));
          // Here a GPU is waited for, and says what went wrong.
          for (auto& [what, tensor] : made) tensor = tensor.to(at::kCPU);
        } catch (const std::exception& error) {  // the other checks go on
          equality.difference = std::numeric_limits<double>::infinity();
          equality.worst = fmt::format(
              "heads of {}: {}", width,
              std::string(error.what()).substr(0, std::string_view(error.what()).find('\n')));
          return equality;
        }
        for (std::size_t i = 0; i < host.size(); ++i) {
          const at::Tensor exact = host[i].second.to(at::kDouble);
          const double apart = (made[i].second.to(at::kDouble) - exact).abs().max().item<double>() /
                               exact.abs().max().item<double>();
          // Not a number is the worst miss.
          const double share =
              std::isfinite(apart) ? apart : std::numeric_limits<double>::infinity();
          if (share <= equality.difference && !equality.worst.empty()) continue;
          equality.difference = share;
          equality.worst = fmt::format("{}: {}", one.name(), host[i].first);
        }
      }
    }
  }
  return equality;
}

}  // namespace roformer
