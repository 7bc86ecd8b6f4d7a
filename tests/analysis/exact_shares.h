// The shares of the variance of scores in closed form, for schemes whose score is linear in the
// query and in the key: s = q A_ij k + b_ij q + c_ij k + d_ij with q and k of independent standard
// normal features. The terms are read off the hooks with unit vectors for contents.
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/zeros.h>

#include <vector>

#include "analysis/score_shares.h"
#include "attention/attend.h"

namespace roformer {

// inputs' contents do not matter.
inline std::vector<ScoreShares> exact_shares(const ScoreInputs& in) {
  const std::int64_t heads = in.query.size(1), width = in.query.size(2);
  const std::int64_t length = in.context.keys.count(), units = width + 1;
  const auto options = in.query.options();
  // Nothing, then each unit vector: [D + 1, D].
  const at::Tensor basis = at::cat({at::zeros({1, width}, options), at::eye(width, options)});
  const auto placed = [&](const at::Tensor& rows, const at::Tensor& positions) {
    const at::Tensor all =
        rows.view({-1, 1, 1, width}).expand({rows.size(0), heads, length, width});
    return positions.defined() ? all + positions : all.contiguous();
  };
  const bool biased = in.scheme.capabilities().bias || in.scheme.capabilities().bias_of_positions;
  const at::Tensor key = placed(basis.repeat({units, 1}), in.key_positions);
  const at::Tensor s =
      attend({.query = placed(basis.repeat_interleave(units, 0), in.query_positions),
              .key = key,
              .value = key,
              .scheme = in.scheme,
              .attention = in.attention,
              .context = in.context,
              .bias = biased ? in.scheme.bias(in.context) : at::Tensor()},
             true)
          .scores.to(at::kDouble)
          .view({units, units, heads, length, length});
  const at::Tensor d = s[0][0];
  const at::Tensor b = s.select(1, 0).narrow(0, 1, width) - d;  // [D, H, L, L]
  const at::Tensor c = s.select(0, 0).narrow(0, 1, width) - d;
  const at::Tensor a = s.narrow(0, 1, width).narrow(1, 1, width) - d - b.unsqueeze(1) -
                       c.unsqueeze(0);  // [D, D, H, L, L]
  const at::Tensor visible =
      (in.context.mask.defined() ? in.context.mask : at::zeros({length, length}) == 0)
          .to(at::kDouble);
  const double pairs = visible.sum().item<double>();
  const auto mean = [&](const at::Tensor& x) {
    return (x * visible).sum(at::IntArrayRef({-2, -1})) / pairs;
  };
  // Over the visible pairs, about the mean of all or of each row.
  const auto variance = [&](const at::Tensor& x) { return mean(x.square()) - mean(x).square(); };
  const auto row_variance = [&](const at::Tensor& x) {
    const at::Tensor rows = (x * visible).sum(-1, true) / visible.sum(-1, true);
    return mean((x - rows).square());
  };
  std::vector<ScoreShares> result;
  const at::Tensor cc = mean(c).square().sum(0) + mean(a).square().sum(at::IntArrayRef({0, 1}));
  const at::Tensor cp = row_variance(b).sum(0), pc = variance(c).sum(0), pp = row_variance(d);
  const at::Tensor both = variance(a).sum(at::IntArrayRef({0, 1}));
  for (std::int64_t h = 0; h < heads; ++h) {
    const double total = (cc + cp + pc + pp + both)[h].item<double>();
    const auto share = [&](const at::Tensor& part) { return part[h].item<double>() / total; };
    result.push_back({.content_content = share(cc),
                      .content_position = share(cp),
                      .position_content = share(pc),
                      .position_position = share(pp),
                      .interaction = share(both),
                      .deviation = std::sqrt(total)});
  }
  return result;
}

}  // namespace roformer
