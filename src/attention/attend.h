// Attention over separate q, k and v: the general path (attention_path.h). It is used for schemes
// whose scores depend on the content, for decoding with a cache, attention dropout and log-n
// scaling, and on CPUs for whatever tiled attention does not support. Scores are stored once and
// become the probabilities in place, on CPUs for some queries at a time (query_parts.h).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

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

// Splits attention by queries: the scores of a part fit in a core's cache, and under causality keys
// after the part's last query are never used.

// Queries first .. first + count - 1 of a context, with the first `keys` of its keys.
struct QueryPart {
  std::int64_t first = 0, count = 0;
  std::int64_t keys = 0;
};

// Splits all queries of a context into parts of at most `most`. Under causality the queries are the
// last of the tokens, and a part's last query is its last key.
std::vector<QueryPart> query_parts(const AttentionContext& context, std::int64_t most);

// The context of one part, without token inputs.
AttentionContext part_of(const AttentionContext& context, const QueryPart& part);
// The part's slice of a tensor over all pairs, [.., Lq or 1, Lk]; undefined stays undefined.
at::Tensor pairs_of(const at::Tensor& pairs, const QueryPart& part);

// Splits x [B, H, Lq, ..] into the parts' queries.
std::vector<at::Tensor> by_queries(const at::Tensor& x, const std::vector<QueryPart>& parts);
// Splits x [B, H, Lk, ..] into the parts' keys, which overlap. Gradients are summed in one tensor.
std::vector<at::Tensor> by_keys(const at::Tensor& x, const std::vector<QueryPart>& parts);
// The same without the keys of the previous part. The first part includes all keys before it.
std::vector<at::Tensor> by_own_keys(const at::Tensor& x, const std::vector<QueryPart>& parts);

// Sees each call of softmax self-attention in the layers that it asks for, and may replace the
// output. `explain` uses it to record attention and to remove positions from a trained model.

class AttentionObserver {
 public:
  virtual ~AttentionObserver() = default;

  // Other layers take their fast paths.
  virtual bool wants(std::int64_t layer) const = 0;
  // One call is a block of equally long sequences, in the order of the batch.
  // `token_inputs` [B, H, L, F]: the scheme's, before cached_token_inputs(); undefined where it
  // has none. -> [B, H, L, D]
  virtual at::Tensor attend(const AttendInputs& inputs, const at::Tensor& token_inputs) = 0;
};

}  // namespace roformer
