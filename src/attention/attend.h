// Attention over separate q, k and v: the general path (attention_path.h). It serves the schemes
// whose scores depend on the content, decoding with a cache, attention dropout and log-n scaling,
// and on CPUs what tiles cannot serve. Scores exist once and become the probabilities in place, on
// CPUs for some queries at a time (query_parts.h).
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
  AttentionContext context;  // its mask holds everything that is hidden
  at::Tensor bias;           // the scheme's bias for this context, or undefined
  DropoutSpec dropout;       // of the probabilities
  // What key and value are: a cache may hold them rotated already (scheme.form().cached_keys), and
  // those in front of the queries as the scheme's changed_keys() left them.
  CachedKeys keys = CachedKeys::unrotated;
  std::int64_t most_queries = 0;  // whose scores are held at a time; 0: as many as pay
};

struct Attended {
  at::Tensor output;         // [B, H, Lq, D]
  at::Tensor scores;         // [B, H, Lq, Lk] scaled, biased, unmasked; only where asked for
  AttentionWeights weights;  // likewise, of schemes that have their own
};

// A row without visible keys gives zeros.
Attended attend(const AttendInputs& inputs, bool with_scores = false);

// Queries or keys [B, H, L, D] rotated or transformed as the scheme does it there.
at::Tensor rotated(const PositionScheme& scheme, const AttentionContext& context,
                   const at::Tensor& x, TokenSide side);

struct KeyValue {
  at::Tensor key;    // [B, H, L, D]
  at::Tensor value;  // [B, H, L, D]
  // [B, H, L, F], as the scheme remembers its features of tokens; undefined: it has none
  at::Tensor features = {};
};
// Keys rotated likewise, and values where the scheme rotates them, too.
KeyValue rotated_keys(const PositionScheme& scheme, const AttentionContext& context, KeyValue raw);
// Key and value as a cache holds them for this scheme: rotated at context.keys, or as they are.
KeyValue to_cache(const PositionScheme& scheme, const AttentionContext& context, KeyValue raw);

}  // namespace roformer
