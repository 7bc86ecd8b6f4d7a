#include "analysis/score_shares.h"

#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>

#include "attention/attend.h"
#include "base/error.h"
#include "tensor/aten.h"

namespace roformer {
namespace {

// Sums of squares of each head, [H] float64.
struct Squares {
  at::Tensor y, xy;                           // of the key's content and of both
  at::Tensor yp, xyp;                         // with positions
  at::Tensor p_row, xp_row, yp_row, xyp_row;  // less the mean of each row of visible keys
};

// The variances from which the squares' expectations are made, one for each part of the scores;
// their sums over groups, too.
using Components = ScoreShares;

void add(Components& sum, const Components& other, double times = 1) {
  for (const SharePart& part : kShareParts) sum.*part.share += times * other.*part.share;
}

// The pairs that are measured.
struct VisiblePairs {
  at::Tensor visible;  // bool [L, L]
  at::Tensor keys;     // float64 [L]: of each row, at least 1
  double count = 0;
};

VisiblePairs visible_pairs(const at::Tensor& visible) {
  const at::Tensor counts = visible.sum(-1).to(at::kDouble);
  return {.visible = visible,
          .keys = counts.clamp_min(1),
          .count = std::max(1.0, counts.sum().item<double>())};
}

// The sum of squares over pairs, and the same less that of the rows' means. x [.., H, L, L], 0 at
// hidden pairs -> both [.., H].
struct PairSquares {
  at::Tensor all, in_rows;
};
PairSquares pair_squares(const at::Tensor& x, const VisiblePairs& pairs) {
  const at::Tensor all = x.square().sum(at::IntArrayRef({-2, -1}));
  return {.all = all, .in_rows = all - (x.sum(-1).square() / pairs.keys).sum(-1)};
}

class Group {
 public:
  Group(const ScoreInputs& in, std::int64_t first, std::int64_t count)
      : in_(in), first_(first), count_(count) {
    scheme_bias_ = in.scheme.capabilities().bias || in.scheme.capabilities().bias_of_positions
                       ? in.scheme.bias(in.context)
                       : at::Tensor();
    keys_ = placed(in.key, in.key_positions, first, count);
    if (in.key_token_inputs.defined()) {
      token_inputs_ =
          in.scheme.cached_token_inputs(placed(in.key_token_inputs, {}, first, count), {});
    }
  }

  Squares squares() {
    at::Tensor finite;
    VisiblePairs pairs;
    at::Tensor of_keys;  // sum over x of s, [m, H, L, L]
    std::vector<at::Tensor> means;
    PairSquares total, of_queries;
    for (std::int64_t a = 0; a < count_; ++a) {
      at::Tensor s = scores(a);
      if (a == 0) pairs = visible_pairs(seen(s));
      s = at::where(pairs.visible, s, 0.0);
      add(total, pair_squares(s, pairs), /*over_batch=*/true);
      add(of_queries, pair_squares(s.mean(0), pairs), false);
      means.push_back(s.sum(at::IntArrayRef({-2, -1})) / pairs.count);
      of_keys = of_keys.defined() ? of_keys.add_(s) : s.clone();
    }
    of_keys.div_(static_cast<double>(count_));
    const double m = static_cast<double>(count_), v = pairs.count;
    const at::Tensor xy = at::stack(means);  // [m, m, H]
    const at::Tensor mean = xy.mean(at::IntArrayRef({0, 1}));
    const auto variance = [&](const at::Tensor& of) { return of.square().mean(0) - mean.square(); };
    const at::Tensor x = variance(xy.mean(1)), y = variance(xy.mean(0));
    const at::Tensor both = variance(xy.flatten(0, 1)) - x - y;
    const PairSquares key = pair_squares(of_keys, pairs);
    const PairSquares position = pair_squares(of_keys.mean(0), pairs);
    const at::Tensor p = position.all / v - mean.square();
    const at::Tensor xp = of_queries.all / (m * v) - mean.square() - x - p;
    const at::Tensor yp = key.all.mean(0) / v - mean.square() - y - p;
    const at::Tensor p_row = position.in_rows / v;
    const at::Tensor xp_row = of_queries.in_rows / (m * v) - p_row;
    const at::Tensor yp_row = key.in_rows.mean(0) / v - p_row;
    return {.y = y,
            .xy = both,
            .yp = yp,
            .xyp = total.all / (m * m * v) - mean.square() - x - y - p - both - xp - yp,
            .p_row = p_row,
            .xp_row = xp_row,
            .yp_row = yp_row,
            .xyp_row = total.in_rows / (m * m * v) - p_row - xp_row - yp_row};
  }

 private:
  const ScoreInputs& in_;
  std::int64_t first_, count_;
  at::Tensor scheme_bias_;
  at::Tensor keys_;          // [m, H, L, D]
  at::Tensor token_inputs_;  // [m, H, L, F], remembered

  static void add(PairSquares& to, const PairSquares& more, bool over_batch) {
    const at::Tensor all = over_batch ? more.all.sum(0) : more.all;
    const at::Tensor in_rows = over_batch ? more.in_rows.sum(0) : more.in_rows;
    to.all = to.all.defined() ? to.all + all : all;
    to.in_rows = to.in_rows.defined() ? to.in_rows + in_rows : in_rows;
  }

  // Each content at all positions: [N, H, C] -> [count, H, L, C].
  at::Tensor placed(const at::Tensor& contents, const at::Tensor& positions, std::int64_t first,
                    std::int64_t count) const {
    const at::Tensor everywhere =
        contents.narrow(0, first, count)
            .unsqueeze(2)
            .expand({count, contents.size(1), in_.context.keys.count(), contents.size(2)});
    return positions.defined() ? everywhere + positions : everywhere.contiguous();
  }

  // The scores of query content a with every key content: float64 [m, H, L, L].
  at::Tensor scores(std::int64_t a) const {
    const at::Tensor query = placed(in_.query, in_.query_positions, first_ + a, 1);
    AttentionContext context = in_.context;
    context.token_inputs = token_inputs_;
    return attend({.query = query.expand_as(keys_).contiguous(),
                   .key = keys_,
                   .value = keys_,
                   .scheme = in_.scheme,
                   .attention = in_.attention,
                   .context = context,
                   .bias = scheme_bias_},
                  /*with_scores=*/true)
        .scores.to(at::kDouble);
  }

  // The mask's pairs that the scheme itself does not hide, [L, L].
  at::Tensor seen(const at::Tensor& scores) const {
    const at::Tensor finite = at::isfinite(scores).flatten(0, 1).all(0);
    if (!in_.context.mask.defined()) return finite;
    return in_.context.mask.expand({1, 1, finite.size(0), finite.size(1)})[0][0].logical_and(
        finite);
  }
};

// Solves the expectations of the squares of m x m contents for the variances.
Components components_of(const Squares& squares, std::int64_t head, double m) {
  const auto at_head = [&](const at::Tensor& x) { return x[head].item<double>(); };
  const double one = m / (m - 1), two = one * one;
  const double xyp = at_head(squares.xyp) * two, xyp_row = at_head(squares.xyp_row) * two;
  const double xy = at_head(squares.xy) * two;
  const double yp = at_head(squares.yp) * one - xyp / m;
  const double yp_row = at_head(squares.yp_row) * one - xyp_row / m;
  const double xp_row = at_head(squares.xp_row) * one - xyp_row / m;
  return {.content_content = at_head(squares.y) * one - xy / m + xy,
          .content_position = xp_row,
          .position_content = yp,
          .position_position = at_head(squares.p_row) - xp_row / m - yp_row / m - xyp_row / (m * m),
          .interaction = xyp};
}

ScoreShares shares_of(const Components& sum, double groups) {
  ScoreShares result;
  for (const SharePart& part : kShareParts) {
    result.*part.share = std::max(0.0, sum.*part.share / groups);  // an estimate may be negative
  }
  const double variance = result.content_content + result.of_positions();
  result.deviation = std::sqrt(variance);
  for (const SharePart& part : kShareParts) {
    double& share = result.*part.share;
    share = variance > 0 ? share / variance : std::nan("");
  }
  return result;
}

// The standard error of a figure of the shares from its values with each of the groups left out.
template <typename Figure>
double jackknife(const std::vector<ScoreShares>& without, const Figure& figure) {
  const auto groups = static_cast<double>(without.size());
  double mean = 0, squares = 0;
  for (const ScoreShares& shares : without) mean += figure(shares) / groups;
  for (const ScoreShares& shares : without) squares += std::pow(figure(shares) - mean, 2);
  return std::sqrt(squares * (groups - 1) / groups);
}

ScoreShares::Errors errors_of(const std::vector<ScoreShares>& without) {
  ScoreShares::Errors errors{.of_positions = jackknife(without, [](const ScoreShares& shares) {
                               return shares.of_positions();
                             })};
  for (const SharePart& part : kShareParts) {
    errors.*part.error =
        jackknife(without, [&](const ScoreShares& shares) { return shares.*part.share; });
  }
  return errors;
}

}  // namespace

std::vector<ScoreShares> score_shares(const ScoreInputs& in) {
  const c10::AutoGradMode no_gradient(false);
  const std::int64_t heads = in.query.size(1), m = in.query.size(0) / in.groups;
  ROFORMER_ASSERT(m > 1 && in.key.size(0) == in.query.size(0));
  std::vector<std::vector<Components>> of_heads(static_cast<std::size_t>(heads));  // of each group
  for (std::int64_t g = 0; g < in.groups; ++g) {
    const Squares squares = Group(in, g * m, m).squares();
    for (std::int64_t h = 0; h < heads; ++h) {
      of_heads[static_cast<std::size_t>(h)].push_back(
          components_of(squares, h, static_cast<double>(m)));
    }
  }
  const auto groups = static_cast<double>(in.groups);
  std::vector<ScoreShares> result;
  for (const std::vector<Components>& of_groups : of_heads) {
    Components sum;
    for (const Components& one : of_groups) add(sum, one);
    result.push_back(shares_of(sum, groups));
    if (in.groups < 2) continue;
    std::vector<ScoreShares> without;
    for (const Components& one : of_groups) {
      Components others = sum;
      add(others, one, -1);
      without.push_back(shares_of(others, groups - 1));
    }
    result.back().errors = errors_of(without);
  }
  return result;
}

}  // namespace roformer
