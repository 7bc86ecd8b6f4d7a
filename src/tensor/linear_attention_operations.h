// The operations of linear attention. The two causal sums (Katharopoulos 2020, section 3.3) go
// chunk by chunk: a chunk's queries meet their own keys as a matrix and all earlier keys through
// one state, so neither an L x L matrix nor a state for each token is stored.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace roformer {

// sum over j <= i of (query_i . key_j) value_j. query and key [B, H, L, F], value [B, H, L, D]
// -> [B, H, L, D]; float or double.
at::Tensor causal_products(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value);

// sum over j <= i of query_i . key_j. [B, H, L, F] -> [B, H, L, 1]; float or double.
at::Tensor causal_denominators(const at::Tensor& query, const at::Tensor& key);

// FAVOR+'s positive random features (Choromanski 2021, lemma 1), whose products are exp(q.k /
// sqrt(D)) on average: f(x) = (exp(M y - |y|^2 / 2 - stabiliser) + epsilon) / sqrt(F) with
// y = x / D^(1/4).

// The stabiliser is subtracted from the exponents so that none is large. It cancels in the quotient
// of linear attention if all terms of a quotient share it; gradients treat it as a constant.
enum class FavorStabilizer {
  none,
  of_token,  // for queries: the largest entry of M y of each token
  of_head,   // for keys: the largest of all tokens of a head
};

struct FavorInputs {
  at::Tensor x;       // [B, H, L, D], float or double
  at::Tensor matrix;  // [F, D]
  double epsilon = 0;
  FavorStabilizer stabilizer = FavorStabilizer::none;
  at::Tensor least;  // with of_head: a lower bound of the stabiliser, [B, H, 1, 1], or undefined
};
struct FavorFeatures {
  at::Tensor features;    // [B, H, L, F]
  at::Tensor stabilizer;  // with of_head: [B, H, 1, 1]
};
FavorFeatures favor_features(const FavorInputs& inputs);

// The factor 1 / sqrt(F) of a feature.
double favor_share(std::int64_t features);

}  // namespace roformer
