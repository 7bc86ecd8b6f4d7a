#include "analysis/ablation.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>

#include <cmath>

#include "base/error.h"
#include "metrics/clustered_mean.h"
#include "metrics/statistics.h"
#include "position/one_position.h"

namespace roformer {
namespace {

constexpr double kSameScores = 1e-4;  // of the largest

Attended attend_without(const AttendInputs& in, WithoutPositions what, const at::Tensor& query,
                        const at::Tensor& key, bool with_scores) {
  const OnePosition scheme(in.scheme, what);
  const SchemeCapabilities capabilities = scheme.capabilities();
  const bool biased = capabilities.bias || capabilities.bias_of_positions;
  return attend({.query = query,
                 .key = key,
                 .value = in.value,
                 .scheme = scheme,
                 .attention = in.attention,
                 .context = in.context,
                 .bias = biased ? scheme.bias(in.context) : at::Tensor()},
                with_scores);
}

// Whether the scores stay the same when all tokens are at one position.
bool counts_by_content(const AttendInputs& in) {
  if (in.scheme.capabilities().scores == ContentScores::none) return false;
  const auto scores = [&](WithoutPositions what) {
    return attend_without(in, what, in.query, in.key, /*with_scores=*/true).scores;
  };
  at::Tensor there = scores(WithoutPositions::as_they_stand);
  at::Tensor moved = scores(WithoutPositions::one_position);
  if (in.context.mask.defined()) {
    const at::Tensor hidden = in.context.mask.logical_not();
    there = there.masked_fill(hidden, 0);
    moved = moved.masked_fill(hidden, 0);
  }
  return (there - moved).abs().max().item<double>() <=
         kSameScores * there.abs().max().item<double>();
}

}  // namespace

at::Tensor PositionAblation::attend(const AttendInputs& in, const at::Tensor&) {
  const auto without = [&](const at::Tensor& x, const at::Tensor PositionMeans::*which) {
    if (means_.empty()) return x;
    const at::Tensor& means = means_[static_cast<std::size_t>(in.context.layer)].*which;
    return x - means.narrow(1, 0, x.size(2)).to(x.scalar_type());
  };
  const auto what =
      counts_by_content(in) ? WithoutPositions::plain_products : WithoutPositions::one_position;
  const at::Tensor off = attend_without(in, what, without(in.query, &PositionMeans::query),
                                        without(in.key, &PositionMeans::key), false)
                             .output;
  if (!part_.head) return off;
  at::Tensor output = roformer::attend(in).output.clone();
  output.select(1, *part_.head).copy_(off.select(1, *part_.head));
  return output;
}

std::vector<std::string> ablation_in_words(const PositionScheme& scheme, bool adds_to_embedding,
                                           bool rotates) {
  const SchemeCapabilities capabilities = scheme.capabilities();
  std::vector<std::string> lines;
  if (adds_to_embedding) {
    lines.push_back(
        "queries and keys lose their mean over the texts at each position (less the mean over "
        "positions), which is what the table leaves in them");
  }
  if (capabilities.transform || capabilities.scores != ContentScores::none) {
    lines.push_back(
        "rotations and terms of content and position are those of query and key at one position; "
        "where that changes no score, because positions are counted by the content, q.k is all "
        "that is left");
  } else if (rotates) {
    lines.push_back("queries and keys are rotated as at one position: no relative rotation");
  }
  if (capabilities.bias || capabilities.bias_of_positions) {
    lines.push_back(
        "the bias is that of distance 0 for every pair: a constant, as its mean or zero would be, "
        "which the softmax does not see");
  }
  if (capabilities.running_sums) lines.push_back("the sums of the gates' logarithms are left out");
  if (capabilities.weights)
    lines.push_back("a softmax takes the place of the scheme's own weights");
  if (capabilities.value_term) {
    lines.push_back("what is added to the values is that of distance 0");
  }
  return lines;
}

LossChange loss_change(const RowLosses& first, const RowLosses& second) {
  ROFORMER_ASSERT(first.targets == second.targets);
  std::vector<double> differences;
  for (std::size_t i = 0; i < first.sums.size(); ++i) {
    differences.push_back(second.sums[i] - first.sums[i]);
  }
  const ClusteredMean mean = clustered_mean(differences, first.targets);
  LossChange change{.change = mean.mean, .standard_error = mean.standard_error, .reach = NAN};
  if (mean.clusters > 1) {
    const double degrees = static_cast<double>(mean.clusters - 1);
    change.reach = student_quantile(0.975, degrees) * mean.standard_error;
  }
  return change;
}

}  // namespace roformer
