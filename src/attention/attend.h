// Attention over separate q, k and v: the general path (attention_path.h). It is used for schemes
// whose scores depend on the content, for decoding with a cache, attention dropout and log-n
// scaling, and on CPUs for whatever tiled attention does not support. Scores are stored once and
// become the probabilities in place, on CPUs for some queries at a time (query_parts.h).
#pragma once

#include <ATen/core/Tensor.h>

#include "config/attention_settings.h"
#include "position/scheme.h"
#include "tensor/operations.h"

namespace roformer {

struct AttendInputs {
  at::Tensor query;  // [B, H, Lq, D], biased, not rotated
  at::Tensor key;    // [B, H, Lk, D]
  at::Tensor value;  // [B, H, Lk, D]
  const PositionScheme& scheme;
  const AttentionSettings& attention;
  AttentionContext context;  // its mask hides every hidden key
  at::Tensor bias;           // the scheme's bias for this context, or undefined
  DropoutSpec dropout;       // of the probabilities
  // Whether `key` and `value` are already rotated, as in a cache (capabilities().cached_keys), and
  // those before the queries already changed by changed_keys().
  CachedKeys keys = CachedKeys::unrotated;
  std::int64_t most_queries = 0;  // the most queries at a time; 0: chosen for speed
};

struct Attended {
  at::Tensor output;         // [B, H, Lq, D]
  at::Tensor scores;         // [B, H, Lq, Lk] scaled, biased, unmasked; only on request
  AttentionWeights weights;  // of schemes that replace the softmax; only on request
};

// A row without visible keys gives zeros.
Attended attend(const AttendInputs& inputs, bool with_scores = false);

// Queries or keys [B, H, L, D], rotated or transformed by the scheme.
at::Tensor rotated(const PositionScheme& scheme, const AttentionContext& context,
                   const at::Tensor& x, TokenSide side);

struct KeyValue {
  at::Tensor key;    // [B, H, L, D]
  at::Tensor value;  // [B, H, L, D]
  // [B, H, L, F], the scheme's cached_token_inputs(); undefined: it has none
  at::Tensor token_inputs = {};
};
// Rotates keys, and values if the scheme rotates values.
KeyValue rotated_keys(const PositionScheme& scheme, const AttentionContext& context, KeyValue raw);
// Key and value as a cache stores them for this scheme: rotated at context.keys, or unrotated.
KeyValue to_cache(const PositionScheme& scheme, const AttentionContext& context, KeyValue raw);

}  // namespace roformer
