#include "analysis/reference_attention.h"

#include <ATen/ATen.h>

#include "catch.h"

using namespace roformer;

TEST_CASE("the chunks of linear attention give what every state written out gives") {
  at::manual_seed(2);
  const auto features_of = [](const at::Tensor& x) {
    LinearFeatures features{.query = at::elu(x) + 1};
    features.key = features.query;
    features.rotated_query = features.rotated_key = at::roll(features.query, 1, -1);
    return features;
  };
  const at::Tensor x = at::randn({2, 2, 300, 8}, at::kDouble);
  const at::Tensor v = at::randn({2, 2, 300, 8}, at::kDouble);
  const at::Tensor chunked = linear_attention(features_of(x), v, /*causal=*/true);
  CHECK((chunked - cumulative_linear_attention(features_of(x), v)).abs().max().item<double>() <
        1e-10);
}
