// The two sums of causal linear attention (Katharopoulos 2020, section 3.3), over the keys up to
// the query, chunk by chunk: a chunk's queries meet their own keys as a matrix and all earlier ones
// through one state, so that neither a matrix of L x L nor a state of every token is held.
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
// sqrt(D)) on average: f(x) = (exp(M y - |y|^2 / 2 - stabiliser) + epsilon) / sqrt(F) of
// y = x / D^(1/4). One pass over the features behind the product with M, and one backward.

// What is taken from the exponents so that none is large. It cancels in the quotient of linear
// attention where it is the same for all that a quotient adds up, and counts as a constant.
enum class FavorStabilizer {
  none,
  of_token,  // the largest of M y of each token: for queries
  of_head,   // of all tokens of a head: for keys
};

struct FavorInputs {
  at::Tensor x;       // [B, H, L, D], float or double
  at::Tensor matrix;  // [F, D]
  double epsilon = 0;
  FavorStabilizer stabilizer = FavorStabilizer::none;
  at::Tensor least;  // with of_head: it is at least this, [B, H, 1, 1]; may be undefined
};
struct FavorFeatures {
  at::Tensor features;    // [B, H, L, F]
  at::Tensor stabilizer;  // with of_head: [B, H, 1, 1]
};
FavorFeatures favor_features(const FavorInputs& inputs);

// A feature is this times an exponential with epsilon added to it.
double favor_share(std::int64_t features);

}  // namespace roformer
