// Drops cached keys that no later token can see: those outside the window of every layer, or those
// between the first and the last tokens if a scheme sees only these. The cache then stays bounded
// however long the text grows.
#pragma once

#include <cstdint>
#include <span>

#include "attention/attention_cache.h"
#include "config/attention_settings.h"
#include "position/scheme.h"

namespace roformer {

// Drops from a softmax cache every key that the token at position `next` sees in no layer. Windows
// and all schemes' masks guarantee that a key hidden from one token is hidden from all later ones.
// Checking costs one row of masks, so it runs only when the cache has doubled: memory is at most
// twice the visible keys (and at least 64 tokens).
void forget_hidden_keys(AttentionCache& cache, const PositionScheme& scheme,
                        std::span<const AttentionSettings> layers, std::int64_t next);

}  // namespace roformer
